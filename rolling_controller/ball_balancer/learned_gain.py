"""
How much stronger a rig is than a law was told: learned from frames while a law runs.

A second difference of places is the acceleration that tilts give. It is regressed on the tilt at
the frames, its rate (which a wrong delay shows as) and the direction of motion (which rolling
resistance shows as) by recursive least squares: a Kalman filter of numbers that do not change.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.rig_model import RigModel

Array = NDArray[np.float64]
SPREAD = (0.2, 0.02, 10.0)  # expected of share, of delay [s] and of resistance [counts]
UNKNOWN = 40.0  # counts, of the noise and the uneven plate in one frame
SLOWEST = 0.02  # m/s, below which a ball may rest
# Of the share. A weaker rig is left alone: it is only slower, but swings where it is thought to
# be weaker than it is.
RANGE = (1.0, 1.6)
WORTH = 0.06  # change of the share below which a law goes on as it is
SURE = 2.0  # standard deviations that a change must have


class LearnedGain:
    """
    The gain of a rig over the one that was told.

    Attributes
    ----------
    share
        To go by; it changes when a change is certain, and is worth it.

    """

    def __init__(self, rig: RigModel) -> None:
        """Expect the gain that was told."""
        self._rig = rig
        self.begin()

    def begin(self) -> None:
        """Forget all that was learned."""
        self.share = 1.0
        self._values = np.array([1.0, 0.0, self._rig.breakaway / 2])
        self._covariance = np.diag(np.square(SPREAD))
        self._frames: list[tuple[Array, Array, Array]] = []

    def missed(self) -> None:
        """Take a frame without a ball: differences are of frames in a row."""
        self._frames = []

    def saw(self, place: Array, tilt: Array, tilt_rate: Array) -> None:
        """
        Learn from a frame.

        Parameters
        ----------
        place
            Of the ball (2) [m].
        tilt, tilt_rate
            Estimates at the frame (2) [counts], [counts/s].

        """
        self._frames = [*self._frames, (place, tilt, tilt_rate)][-3:]
        if len(self._frames) < 3:
            return
        (y0, a0, _), (y1, a1, rate), (y2, a2, _) = self._frames
        T = self._rig.period
        speed = (y2 - y0) / (2 * T)
        if np.hypot(*speed) < SLOWEST:
            return
        carried = self._rig.lever * (a2 - 2 * a1 + a0)
        found = (y2 - 2 * y1 + y0 + carried) / (self._rig.gain * T**2)
        mean = (a0 + 10 * a1 + a2) / 12  # what a second difference integrates, to fourth order
        direction = speed / np.hypot(*speed)
        for k in range(2):
            self._learn(np.array([mean[k], -rate[k], -direction[k]]), float(found[k]))
        spread = float(np.sqrt(self._covariance[0, 0]))
        value = float(np.clip(self._values[0], *RANGE))
        if abs(value - self.share) > max(WORTH * self.share, SURE * spread):
            self.share = value

    def _learn(self, row: Array, found: float) -> None:
        """Update by an acceleration that was found [counts]."""
        told = self._covariance @ row
        gain = told / (row @ told + UNKNOWN**2)
        self._values = self._values + gain * (found - row @ self._values)
        self._covariance = self._covariance - np.outer(gain, told)
