"""Surfaces of bodies: charts as expressions, geometry by differentiation."""

from rolling_dynamics.surfaces.ellipsoid import Ellipsoid, Sphere
from rolling_dynamics.surfaces.expression_surface import ExpressionSurface
from rolling_dynamics.surfaces.harmonic import HarmonicBody
from rolling_dynamics.surfaces.plane import Plane
from rolling_dynamics.surfaces.revolution import Cylinder, Torus
from rolling_dynamics.surfaces.surface import Chart, LocalGeometry, Surface

__all__ = [
    'Chart',
    'Cylinder',
    'Ellipsoid',
    'ExpressionSurface',
    'HarmonicBody',
    'LocalGeometry',
    'Plane',
    'Sphere',
    'Surface',
    'Torus',
]
