"""A law in discrete time that answers the frames of a camera, told apart by their stamps."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.estimator import PATIENCE
from rolling_controller.step_law import Law
from rolling_dynamics.arrays import Array

FRAME = ('ball_x', 'ball_y', 'set_point_x', 'set_point_y', 'begins')  # of the log of a controller


class FrameLaw:
    """
    A running law.

    Attributes
    ----------
    newest
        Stamp of the newest frame that was answered [ns]; -1 where the law begins anew.
    missed
        How many frames were missing before it.

    """

    def __init__(self, law: Law) -> None:
        """Start a law."""
        self._running, self._period = law.start(), law.period
        self.begin()

    def begin(self) -> None:
        """Begin anew with the next frame."""
        self._running.begin()
        self.newest, self.missed = -1, 0

    def answer(self, stamp: int, place: ArrayLike, set_point: ArrayLike) -> Array:
        """
        Return what the law gives after a frame, and after those that are missing before it.

        Parameters
        ----------
        stamp
            Of the frame [ns].
        place
            Where the ball is seen (2) [m]; not a number where it is not.
        set_point
            Where it shall be (2) [m].

        Returns
        -------
        NDArray
            Shape (2,): tilt [rad], of a labyrinth the speeds of the servos [rad/s].

        """
        between = round((stamp - self.newest) * 1e-9 / self._period) - 1
        self.missed = max(between, 0) if self.newest >= 0 else 0
        for _ in range(min(self.missed, PATIENCE)):
            self._running.step((math.nan, math.nan), set_point)
        self.newest = stamp
        return self._running.step(place, set_point)
