"""
Simulation of rolling systems: adaptive with events, and fixed-step for the real-time loop.

The names below are loaded when they are first asked for: a node that only needs the stepper does
not carry the adaptive integrators in its memory.
"""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_dynamics.contract.event import Event
    from rolling_dynamics.simulation.integrate import simulate
    from rolling_dynamics.simulation.stepper import Stepper
    from rolling_dynamics.simulation.trajectory import Trajectory

__all__ = ['Event', 'Stepper', 'Trajectory', 'simulate']

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'Event': 'rolling_dynamics.contract.event',
        'Stepper': f'{__name__}.stepper',
        'Trajectory': f'{__name__}.trajectory',
        'simulate': f'{__name__}.integrate',
    },
)
