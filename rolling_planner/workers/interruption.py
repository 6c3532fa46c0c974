"""
Cutting work short in the midst of a computation.

A signal makes the main thread raise at its next Python instruction. CasADi looks for signals too,
before each evaluation of a solver's functions, so that an optimisation on a fine grid ends within
an iteration. What a library swallows is caught up with when the work reports the next time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import io
import signal
import sys
import threading

from rolling_dynamics.errors import CancelledError

SIGNAL = signal.SIGUSR1


class _Nowhere(io.TextIOBase):
    """Takes what solvers print when they are cut short; it is of no use to anyone."""

    def write(self, text: str) -> int:
        return len(text)


class Interruption:
    """Which job the main thread works on, and which ones it is to give up."""

    def __init__(self) -> None:
        """Take over the signal; only in the main thread."""
        self._cancelled: set[int] = set()
        self._job: int | None = None
        self._held = False
        self._errors = sys.stderr
        self._main = threading.get_ident()
        signal.signal(SIGNAL, self._raise)

    def cancel(self, job: int) -> None:
        """Have a job given up; from any thread."""
        if job not in self._cancelled:  # one signal: what cleans up is not cut short again
            self._cancelled.add(job)
            signal.pthread_kill(self._main, SIGNAL)

    def is_cancelled(self, job: int) -> bool:
        """Tell whether a job is to be given up."""
        return job in self._cancelled

    def begin(self, job: int) -> None:
        """Let a job be cut short from now on; raise CancelledError if it has been already."""
        self._job = job
        self._raise()

    def end(self) -> None:
        """Let nothing be cut short any more."""
        self._job = None
        sys.stderr = self._errors

    @contextmanager
    def held_off(self) -> Iterator[None]:
        """Finish what must not be cut short, such as a message that is being sent."""
        self._held = True
        try:
            yield
        finally:
            self._held = False

    def _raise(self, *_: object) -> None:
        if self._job in self._cancelled and not self._held:
            sys.stderr = _Nowhere()
            raise CancelledError('planning was cancelled')
