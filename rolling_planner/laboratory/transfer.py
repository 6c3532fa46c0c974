"""Smooth motions of the hand from a moving start to rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError


class HandPose(NamedTuple):
    """Turn about y and place in the world, (beta, x, z) in rad and m, with rates."""

    pose: Array
    rate: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class Transfer:
    """
    A polynomial motion of the hand from a moving start to rest at a goal.

    Attributes
    ----------
    start
        Time at its start [s].
    duration
        Its duration [s]; the hand rests afterwards.
    coefficients
        Of powers of the time since the start, shape (6, 3).

    """

    start: float
    duration: float
    coefficients: Array

    def at(self, t: float) -> HandPose:
        """Return the hand at a time [s], held at both ends."""
        s = min(max(t - self.start, 0.0), self.duration)
        k = np.arange(6)
        powers = s ** np.arange(6.0)
        rate = np.where(k > 0, k * s ** np.maximum(k - 1.0, 0.0), 0.0)
        acceleration = np.where(k > 1, k * (k - 1) * s ** np.maximum(k - 2.0, 0.0), 0.0)
        return HandPose(*(w @ self.coefficients for w in (powers, rate, acceleration)))

    def control(self, t: float) -> Array:
        """Return the control (alpha_WH_H_y, a_WH_H_x, a_WH_H_z), in the frame of the hand."""
        if t >= self.start + self.duration:
            return np.zeros(3)
        h = self.at(t)
        c, s = np.cos(h.pose[0]), np.sin(h.pose[0])
        alpha, a_x, a_z = h.acceleration
        return np.array([alpha, c * a_x - s * a_z, s * a_x + c * a_z])


def transfer(
    start: float, duration: float, pose: Array, rate: Array, acceleration: Array, goal: Array
) -> Transfer:
    """
    Return the polynomial of degree 5 from a pose in motion to rest.

    Parameters
    ----------
    start, duration
        Times [s].
    pose, rate, acceleration
        (beta, x, z) at the start and its derivatives, shape (3,).
    goal
        (beta, x, z) at rest at the end.

    """
    if not duration > 0:
        raise ParameterError(f'there must be time to move the hand, got {duration:.3g} s')
    T = duration
    powers = T ** np.arange(6.0)
    k = np.arange(6)
    rows = [
        powers,
        np.where(k > 0, k * T ** np.maximum(k - 1.0, 0.0), 0.0),
        np.where(k > 1, k * (k - 1) * T ** np.maximum(k - 2.0, 0.0), 0.0),
    ]
    known = np.vstack([pose, rate, np.asarray(acceleration) / 2])
    end = np.array(rows)
    wanted = np.vstack([goal, np.zeros(3), np.zeros(3)])
    rest = np.linalg.solve(end[:, 3:], wanted - end[:, :3] @ known)
    return Transfer(start, duration, np.vstack([known, rest]))
