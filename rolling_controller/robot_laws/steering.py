"""Wanted velocities of a body that tumbles: ahead is turned by command, not by its attitude."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from rolling_controller.robot_laws.robot import Velocity

LONGEST = 0.5  # s between two calls that count: after a pause ahead has not turned on


class Steering:
    """Yaw [rad] of the direction in which the robot is to travel, turned by the wanted rate."""

    def __init__(self, yaw: float) -> None:
        """Begin with this yaw [rad]."""
        self.yaw = yaw
        self._time: float | None = None

    def velocity(self, t: float, wanted: Velocity) -> NDArray[np.float64]:
        """
        Return the wanted velocity in W [m/s], shape (2,), after ahead has turned on.

        Parameters
        ----------
        t
            Time [s], increasing.
        wanted
            Wanted velocity; ahead turns with it.

        """
        if self._time is not None:
            self.yaw += wanted.turn * min(max(t - self._time, 0.0), LONGEST)
        self._time = t
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        ahead, left = wanted.forward, wanted.left
        return np.array([c * ahead - s * left, s * ahead + c * left])
