"""Wanted velocities of a body that tumbles: ahead is turned by command, not by its attitude."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LONGEST = 0.5  # s between two calls that count: after a pause ahead has not turned on


class Steering:
    """Yaw [rad] of the direction in which the robot is to travel, turned by the wanted rate."""

    def __init__(self, yaw: float) -> None:
        """Begin with this yaw [rad]."""
        self.yaw = yaw
        self._time: float | None = None

    def velocity(self, t: float, forward: float, turn: float) -> NDArray[np.float64]:
        """
        Return the wanted velocity in W [m/s], shape (2,), after ahead has turned on.

        Parameters
        ----------
        t
            Time [s], increasing.
        forward, turn
            Speed ahead [m/s], yaw rate [rad/s].

        """
        if self._time is not None:
            self.yaw += turn * min(max(t - self._time, 0.0), LONGEST)
        self._time = t
        return forward * np.array([math.cos(self.yaw), math.sin(self.yaw)])
