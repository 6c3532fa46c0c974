"""Which way a robot without a front heads, as a yaw that never tumbles."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


class Heading:
    """
    The yaw of ``base_link`` about the normal of the floor.

    A robot whose spin about the normal is driven turns with its spin. Any other heads where it
    travels: along its velocity or, when it runs backwards, against it, whichever is nearer to
    where it headed before, so that reversing does not turn it; at rest it keeps its heading.

    Attributes
    ----------
    yaw
        Angle from x of the odometry frame [rad], without jumps of a whole turn.
    rate
        Its rate [rad/s]; a jump of the direction of travel at rest has none.

    """

    def __init__(self, slow: float) -> None:
        """
        Head along x.

        Parameters
        ----------
        slow
            Speed below which a robot counts as at rest [m/s].

        """
        self._slow = slow
        self.yaw, self.rate = 0.0, 0.0

    def restart(self, velocity: ArrayLike) -> None:
        """Head along a velocity (x, y) [m/s]; along x if at rest."""
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        self.yaw = math.atan2(vy, vx) if math.hypot(vx, vy) > self._slow else 0.0
        self.rate = 0.0

    def travel(self, velocity: ArrayLike, acceleration: ArrayLike) -> None:
        """
        Head where the robot travels.

        Parameters
        ----------
        velocity, acceleration
            Of its centre, x and y [m/s, m/s^2].

        """
        vx, vy = np.asarray(velocity, dtype=float)[:2].tolist()
        square = vx * vx + vy * vy
        if square <= self._slow * self._slow:
            self.rate = 0.0
            return
        ax, ay = np.asarray(acceleration, dtype=float)[:2].tolist()
        turn = math.atan2(vy, vx) - self.yaw
        self.yaw += turn - math.pi * round(turn / math.pi)
        self.rate = (vx * ay - vy * ax) / square

    def spin(self, rate: float, dt: float) -> None:
        """Turn at a rate [rad/s] for a time [s]."""
        self.yaw += rate * dt
        self.rate = rate
