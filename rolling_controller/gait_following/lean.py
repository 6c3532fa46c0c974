"""Leans of the pendulum: angles from the normal of the floor, as vectors along it."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.system import resting_direction


def on_slope(params: SphereParameters, gravity: Array) -> SphereParameters:
    """Return the sphere on the floor under this gravity [m/s^2], 3 numbers in the floor's axes."""
    along = float(np.hypot(gravity[0], gravity[1]))
    azimuth = float(np.arctan2(gravity[1], gravity[0]))
    return params.on_slope(float(np.arctan2(along, -gravity[2])), azimuth)


def resting_lean(params: SphereParameters, gravity: Array) -> Array:
    """Return the lean at which the pendulum rests under this gravity, as an angle vector."""
    try:
        return lean_of(resting_direction(on_slope(params, gravity)))
    except ParameterError:  # steeper than can be held: lean as far as there is sense in
        return np.array(-gravity[:2] / np.hypot(*gravity[:2]) * 1.2)


def lean_of(n: Array) -> Array:
    """Return the angle of a unit vector n from hanging along the normal [rad], shape (2,)."""
    size = float(np.hypot(n[0], n[1]))
    return np.array(n[:2] * (np.arctan2(size, -n[2]) / size if size > 1e-12 else 1.0))


def turned(turn: Array, n: Array) -> Array:
    """Return n, shape (3,), turned by a rotation vector [rad]."""
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return n
    axis = turn / angle
    return np.array(
        n * np.cos(angle)
        + np.cross(axis, n) * np.sin(angle)
        + axis * (axis @ n) * (1 - np.cos(angle))
    )
