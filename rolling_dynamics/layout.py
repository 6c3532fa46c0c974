"""Former place of names of :mod:`rolling_dynamics.contract`; it goes with the next version."""

from typing import TYPE_CHECKING

from rolling_dynamics.moved_names import moved_names

if TYPE_CHECKING:
    from rolling_dynamics.contract.layout import (
        Entry,
        KINDS,
        Layout,
        quaternion_entry,
        vector_entry,
    )

__all__ = [
    'KINDS',
    'Entry',
    'Layout',
    'quaternion_entry',
    'vector_entry',
]

__getattr__ = moved_names(
    __name__,
    {
        'KINDS': 'rolling_dynamics.contract.layout',
        'Entry': 'rolling_dynamics.contract.layout',
        'Layout': 'rolling_dynamics.contract.layout',
        'quaternion_entry': 'rolling_dynamics.contract.layout',
        'vector_entry': 'rolling_dynamics.contract.layout',
    },
)
