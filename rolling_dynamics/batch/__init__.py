"""
Many motions of one system at a time, on all processors.

The names below are loaded when they are first asked for.
"""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_dynamics.batch.simulator import BatchSimulator, Rollout

__all__ = ['BatchSimulator', 'Rollout']

__getattr__, __dir__ = lazy_names(
    __name__,
    {'BatchSimulator': f'{__name__}.simulator', 'Rollout': f'{__name__}.simulator'},
)
