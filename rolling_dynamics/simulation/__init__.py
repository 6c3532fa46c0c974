"""
Simulation of rolling systems: adaptive with events, and fixed-step for the real-time loop.

The names below are loaded when they are first asked for: a node that only needs the stepper does
not carry the adaptive integrators in its memory.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rolling_dynamics.simulation.event import Event
    from rolling_dynamics.simulation.integrate import simulate
    from rolling_dynamics.simulation.stepper import Stepper
    from rolling_dynamics.simulation.trajectory import Trajectory

__all__ = ['Event', 'Stepper', 'Trajectory', 'simulate']

_PLACES = {
    'Event': 'event',
    'Stepper': 'stepper',
    'Trajectory': 'trajectory',
    'simulate': 'integrate',
}


def __getattr__(name: str) -> object:
    """Return a public name, loading its module."""
    if name not in _PLACES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(import_module(f'{__name__}.{_PLACES[name]}'), name)
