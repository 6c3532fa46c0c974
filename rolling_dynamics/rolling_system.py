"""Former place of names of :mod:`rolling_dynamics.contract`; it goes with the next version."""

from typing import TYPE_CHECKING

from rolling_dynamics.moved_names import moved_names

if TYPE_CHECKING:
    from rolling_dynamics.contract.mode import Mode
    from rolling_dynamics.contract.rolling_system import RollingSystem

__all__ = [
    'Mode',
    'RollingSystem',
]

__getattr__ = moved_names(
    __name__,
    {
        'Mode': 'rolling_dynamics.contract.mode',
        'RollingSystem': 'rolling_dynamics.contract.rolling_system',
    },
)
