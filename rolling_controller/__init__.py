"""Feedback control along plans."""

from rolling_controller.lockstep import ClosedLoop, run_lockstep
from rolling_controller.time_varying_lqr import LqrWeights, TimeVaryingLqr

__all__ = ['ClosedLoop', 'LqrWeights', 'TimeVaryingLqr', 'run_lockstep']
