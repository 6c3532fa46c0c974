"""Rolling contact of an object on a moving hand: kinematics, dynamics, friction."""

from rolling_dynamics.contact.closest_points import closest_points, Touch
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.conversions import (
    convert_state,
    to_coordinates,
)
from rolling_dynamics.contact.representation import second_order_kinematics
from rolling_dynamics.inertia import solid_ellipsoid_inertia

__all__ = [
    'ContactSystem',
    'Touch',
    'closest_points',
    'convert_state',
    'second_order_kinematics',
    'solid_ellipsoid_inertia',
    'to_coordinates',
]
