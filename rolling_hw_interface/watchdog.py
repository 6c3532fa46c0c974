"""Watchdog over an input, and the ramp that brings joints to rest in a stated time."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive


class Watchdog:
    """
    Monitor of the age of an input.

    Attributes
    ----------
    timeout
        Maximum age [s].

    """

    def __init__(self, timeout: float) -> None:
        """Wait for the first input; ``timeout`` is the maximum age [s]."""
        check_positive('a timeout', timeout, 's')
        self.timeout = timeout
        self._fed = -math.inf

    def feed(self, t: float) -> None:
        """Note an input at a time [s]; one that is older than the last changes nothing."""
        self._fed = max(self._fed, t)

    def forget(self) -> None:
        """Count as never fed."""
        self._fed = -math.inf

    def age(self, t: float) -> float:
        """Return the time since the last input [s]; infinite before the first."""
        return t - self._fed

    def expired(self, t: float) -> bool:
        """Return whether the input is too old, or never came."""
        return self.age(t) > self.timeout


class StopRamp:
    """Constant decelerations that bring all joints to rest at the same, stated time."""

    def __init__(self, duration: float) -> None:
        """Take this long to stop [s]."""
        check_positive('the time to stop', duration, 's')
        self.duration = duration
        self._begin = -math.inf
        self._rate: Array = np.zeros(0)

    def start(self, rate: ArrayLike, t: float) -> None:
        """Start from these rates [rad/s], shape (joints,), at a time [s]."""
        self._rate, self._begin = np.array(rate, dtype=float), t

    def rate(self, t: float) -> Array:
        """
        Return the rates at a time [rad/s], shape (joints,).

        Zero from the end of the ramp on.
        """
        left = 1.0 - (t - self._begin) / self.duration
        return self._rate * min(max(left, 0.0), 1.0)

    def over(self, t: float) -> bool:
        """Return whether the ramp has ended."""
        return t - self._begin >= self.duration * (1 - 1e-12)
