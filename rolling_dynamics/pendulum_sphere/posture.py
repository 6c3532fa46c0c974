"""Where the pendulum points: directions, attitudes and the equilibrium on a slope."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.pendulum_sphere.machine import STATE
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from transforms3d.quaternions import axangle2quat, quat2mat


def resting_direction(params: SphereParameters) -> NDArray[np.float64]:
    """
    Return the pendulum's direction at rest, a unit vector in W.

    Raises ParameterError if the slope is too steep.
    """
    turn = params.equilibrium - params.slope  # from the normal of the floor, uphill
    uphill = -np.array([np.cos(params.azimuth), np.sin(params.azimuth), 0.0])
    return np.array(np.sin(turn) * uphill - [0.0, 0.0, np.cos(turn)])


def attitude_of(n: ArrayLike) -> NDArray[np.float64]:
    """Return the shortest turn q_WP, a quaternion wxyz, from hanging along -z to a direction n."""
    v = np.array(n, dtype=float) / np.linalg.norm(n)
    down = np.array([0.0, 0.0, -1.0])
    axis, cosine = np.cross(down, v), float(down @ v)
    sine = float(np.linalg.norm(axis))
    if sine < 1e-15:
        return np.array([1.0, 0, 0, 0] if cosine > 0 else [0.0, 1, 0, 0])
    return np.asarray(axangle2quat(axis / sine, np.arctan2(sine, cosine)))


def pendulum_direction(x: ArrayLike) -> NDArray[np.float64]:
    """Return the pendulum's direction n of a state."""
    q = np.asarray(x, dtype=float)[STATE.slice('q_WP')]
    return np.array(-quat2mat(q)[:, 2])
