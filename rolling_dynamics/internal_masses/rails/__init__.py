"""Rails: curves in the body along which masses move."""

from rolling_dynamics.internal_masses.rails.ellipse import Circle, Ellipse
from rolling_dynamics.internal_masses.rails.expression_rail import ExpressionRail
from rolling_dynamics.internal_masses.rails.figure_eight import FigureEight
from rolling_dynamics.internal_masses.rails.rail import published_frame, Rail
from rolling_dynamics.internal_masses.rails.spline import Spline
from rolling_dynamics.internal_masses.rails.straight import Straight

__all__ = [
    'Circle',
    'Ellipse',
    'ExpressionRail',
    'FigureEight',
    'Rail',
    'Spline',
    'Straight',
    'published_frame',
]
