"""Feedback control along plans."""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_controller.lockstep import ClosedLoop, run_lockstep
    from rolling_controller.lqr_weights import LqrWeights
    from rolling_controller.predictive.law import Horizon, PredictiveLaw
    from rolling_controller.time_varying_lqr import TimeVaryingLqr

__all__ = [
    'ClosedLoop',
    'Horizon',
    'LqrWeights',
    'PredictiveLaw',
    'TimeVaryingLqr',
    'run_lockstep',
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'ClosedLoop': 'rolling_controller.lockstep',
        'Horizon': 'rolling_controller.predictive.law',
        'LqrWeights': 'rolling_controller.lqr_weights',
        'PredictiveLaw': 'rolling_controller.predictive.law',
        'TimeVaryingLqr': 'rolling_controller.time_varying_lqr',
        'run_lockstep': 'rolling_controller.lockstep',
    },
)
