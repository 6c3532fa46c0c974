"""Fraction of missed deadlines of a loop, and the alarms that it raises; needs no ROS."""

from __future__ import annotations

from collections import deque
import threading
from typing import Any, Protocol


class Thresholds(Protocol):
    """Parameters ``overrun_window``, ``overrun_warn``, ``overrun_error``, ``overrun_abort``."""

    def __getitem__(self, name: str) -> Any:
        """Return the present value of one."""
        ...


class Overruns:
    """
    Counter of missed deadlines within a moving window.

    The fraction is of all deadlines in a whole window, so that the first iterations of a loop
    raise no alarm.
    """

    def __init__(self, thresholds: Thresholds) -> None:
        """Use these thresholds, with their values at each check."""
        self._thresholds = thresholds
        self._missed: deque[tuple[float, int]] = deque()
        self._total = 0
        self._lock = threading.Lock()

    def note(self, now: float, count: int) -> None:
        """Count deadlines that were missed up to a time of a steady clock [s]."""
        with self._lock:
            self._missed.append((now, count))
            self._total += count
            self._drop(now)

    def forget(self) -> None:
        """Count again: the alarm was heeded."""
        with self._lock:
            self._missed.clear()
            self._total = 0

    def fraction(self, now: float, period: float, pending: int = 0) -> float:
        """
        Return the fraction of missed deadlines, 0 to 1.

        Parameters
        ----------
        now
            Time of a steady clock [s].
        period
            Time between two deadlines [s].
        pending
            Deadlines that have passed in the present turn, which has not ended.

        """
        with self._lock:
            self._drop(now)
            missed = self._total + pending
        return min(missed * period / self._thresholds['overrun_window'], 1.0)

    def exceeds(self, level: str, fraction: float) -> str:
        """Return a text if a fraction is above the threshold of a level, else nothing."""
        threshold = self._thresholds[f'overrun_{level}']
        if fraction <= threshold:
            return ''
        return (
            f'{fraction:.0%} of the deadlines in {self._thresholds["overrun_window"]:g} s were '
            f'missed; overrun_{level} is {threshold:.0%}'
        )

    def _drop(self, now: float) -> None:
        """Forget what lies before the window."""
        begin = now - self._thresholds['overrun_window']
        while self._missed and self._missed[0][0] < begin:
            self._total -= self._missed.popleft()[1]
