"""
A law in discrete time that answers the frames of a camera, told apart by their stamps.

Frames pass the supervisor first: the plate is level once they are not believed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.ball_filter import ball_filter
from rolling_controller.ball_balancer.estimator import PATIENCE
from rolling_controller.step_law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import RigFile

FRAME = ('ball_x', 'ball_y', 'set_point_x', 'set_point_y', 'begins')  # of the log of a controller
LIMITED = 0.5  # of the greatest command, while an estimate is open


class FrameLaw:
    """
    A running law.

    Attributes
    ----------
    newest
        Stamp of the newest frame that was answered [ns]; -1 where the law begins anew.
    missed
        How many frames were missing before it.
    fault
        Why frames are no longer believed; empty while they are.

    """

    def __init__(self, file: RigFile, law: Law) -> None:
        """Start a law on a rig."""
        self._running, self._period = law.start(), law.period
        self._filter = ball_filter(file)
        self.begin()

    def begin(self) -> None:
        """Begin again with the next frame, the plate level."""
        self._running.begin()
        self._filter.begin()
        self.newest, self.missed, self.fault = -1, 0, ''
        self._sent = np.zeros(2)

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
            Shape (2,): tilt [rad], of a labyrinth the speeds of the servos [rad/s]; zero from a
            fault on.

        """
        between = round((stamp - self.newest) * 1e-9 / self._period) - 1
        self.missed = max(between, 0) if self.newest >= 0 else 0
        commands = [self._sent] * (min(self.missed, PATIENCE) + 1) if self.newest >= 0 else []
        for _ in commands[1:]:
            self._running.step((math.nan, math.nan), set_point)
        self.newest = stamp
        verdict = self._filter.take(place, commands, stamp * 1e-9)
        self.fault = verdict.fault
        if not verdict.possible:
            place = (math.nan, math.nan)
        given = self._running.step(place, set_point)
        most = self._filter.most * (0.0 if verdict.fault else LIMITED if verdict.limited else 1.0)
        self._sent = given.clip(-most, most)
        return self._sent
