"""Balls and disks driven by internal masses: Putkaradze & Rogers."""

from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.disk import PointMassDisk
from rolling_dynamics.internal_masses.masses import FreeMass, RailMass

__all__ = ['FreeMass', 'PointMassBall', 'PointMassDisk', 'RailMass']
