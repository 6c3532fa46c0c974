"""Balls and disks driven by internal masses: Putkaradze & Rogers."""

from typing import TYPE_CHECKING

from rolling_dynamics.lazy import lazy_names

if TYPE_CHECKING:
    from rolling_dynamics.internal_masses.ball import PointMassBall
    from rolling_dynamics.internal_masses.disk import PointMassDisk
    from rolling_dynamics.internal_masses.masses import FreeMass, RailMass

__all__ = ['FreeMass', 'PointMassBall', 'PointMassDisk', 'RailMass']

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        'FreeMass': f'{__name__}.masses',
        'PointMassBall': f'{__name__}.ball',
        'PointMassDisk': f'{__name__}.disk',
        'RailMass': f'{__name__}.masses',
    },
)
