"""Former place of names of :mod:`rolling_dynamics.contract`; it goes with the next version."""

from typing import TYPE_CHECKING

from rolling_dynamics.moved_names import moved_names

if TYPE_CHECKING:
    from rolling_dynamics.contract.tangent_space import difference, retraction, tangent_layout

__all__ = [
    'difference',
    'retraction',
    'tangent_layout',
]

__getattr__ = moved_names(
    __name__,
    {
        'difference': 'rolling_dynamics.contract.tangent_space',
        'retraction': 'rolling_dynamics.contract.tangent_space',
        'tangent_layout': 'rolling_dynamics.contract.tangent_space',
    },
)
