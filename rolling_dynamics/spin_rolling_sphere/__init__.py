"""A sphere that rolls and spins on a plane: Montana's equations and their Darboux-frame form."""

from rolling_dynamics.spin_rolling_sphere.coordinates import (
    attitude_from_coordinates,
    coordinates_from_attitude,
)
from rolling_dynamics.spin_rolling_sphere.system import (
    frame_angle,
    published_angles,
    SpinRollingSphere,
)

__all__ = [
    'SpinRollingSphere',
    'attitude_from_coordinates',
    'coordinates_from_attitude',
    'frame_angle',
    'published_angles',
]
