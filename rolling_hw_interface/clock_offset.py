"""
How far a camera's clock is ahead of the host's, from stamps and arrivals.

Data never arrive earlier than the shortest latency after they were taken. The largest difference
of stamp and arrival within a window therefore gives the offset, up to that latency; the filter
that follows the object corrects what is left.
"""

from __future__ import annotations

from collections import deque
import math

from rolling_dynamics.errors import ParameterError

SETTLED = 20  # images after which the largest difference is near the limit
JUMP = 0.05  # data that come so much earlier than all others have another clock [s]
LATE = 0.25  # so much later as well; less is a busy machine [s]
JUMPS = 5  # such images in a row
GREATEST = 0.02  # correction that a clock can need beside the shortest latency [s]


class ClockOffset:
    """
    The offset of a clock.

    Attributes
    ----------
    correction
        What the filter adds to the offset [s], at most ``GREATEST``.
    restarts
        How often the clock was found to have started again.

    """

    def __init__(self, least_latency: float, *, window: float = 5.0) -> None:
        """
        Know nothing.

        Parameters
        ----------
        least_latency
            Shortest time from the middle of the exposure to the arrival [s]; from a calibration.
        window
            Time over which the largest difference is kept [s].

        """
        if not (least_latency >= 0 and window > 0):
            raise ParameterError(
                'clock: least_latency must be zero or positive and window positive, got '
                f'{least_latency:g} s and {window:g} s'
            )
        self._least, self._window = least_latency, window
        self._kept: deque[tuple[float, float]] = deque()  # falling differences, rising arrivals
        self._count = 0
        self._strange: list[float] = []
        self.correction = 0.0
        self.restarts = 0

    @property
    def settled(self) -> bool:
        """Whether enough images came."""
        return self._count >= SETTLED

    @property
    def offset(self) -> float:
        """What the camera's clock is ahead of the host's [s]; 0 before the first image."""
        if not self._kept:
            return 0.0
        return self._kept[0][1] + self._least + self.correction

    def take(self, stamp: float, arrival: float) -> bool:
        """
        Take the times of an image.

        Parameters
        ----------
        stamp, arrival
            By the camera's clock and by the host's [s].

        Returns
        -------
        bool
            Whether they belong to the clock that is known.

        """
        apart = stamp - arrival
        if self._kept and not -LATE < apart - self._kept[0][1] < JUMP:
            self._strange.append(apart)
            if len(self._strange) < JUMPS or max(self._strange) - min(self._strange) > JUMP:
                del self._strange[: -JUMPS + 1]
                return False
            self._kept.clear()
            self._count, self.correction = 0, 0.0
            self.restarts += 1
        self._strange.clear()
        self._count += 1
        while self._kept and self._kept[-1][1] <= apart:
            self._kept.pop()
        self._kept.append((arrival, apart))
        while self._kept[0][0] < arrival - self._window:
            self._kept.popleft()
        return True

    def correct(self, error: float) -> None:
        """Add what a filter finds [s]; one that has gone astray cannot take the clock along."""
        if math.isfinite(error):
            self.correction = min(max(self.correction + error, -GREATEST), GREATEST)
