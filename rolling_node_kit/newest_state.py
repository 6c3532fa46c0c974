"""
The newest usable state of a stream, and its age.

A state counts if its stamp is near the clock and later than all before, and if it can be read.
What comes again, or cannot be used, leaves the age as it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import math
import threading
import time
from typing import cast, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

KEPT = 256  # states that are remembered
Array = NDArray[np.float64]
Raw = TypeVar('Raw')


class StampCheck:
    """Compares stamps with the clock of a node."""

    def __init__(self, now: Callable[[], int], tolerance: Callable[[], float]) -> None:
        """Read the time [ns] and ``stamp_tolerance`` [s] with these."""
        self._now, self._tolerance = now, tolerance

    def age(self, stamp: int) -> float:
        """Return the time since a stamp [ns] by the clock [s]; negative if it is ahead."""
        return (self._now() - stamp) * 1e-9

    def problem(self, stamp: int) -> str:
        """Return why a stamp [ns] cannot be used, or the empty string."""
        age, tolerance = self.age(stamp), self._tolerance()
        if abs(age) <= tolerance:
            return ''
        where = 'behind' if age > 0.0 else 'ahead of'
        clock = 'the clock of the node' if self._now() else 'simulated time; no /clock came yet'
        return (
            f'a state was rejected: its stamp is {abs(age):.3g} s {where} {clock}; '
            f'stamp_tolerance is {tolerance:g} s'
        )


class NewestState(Generic[Raw]):
    """
    Holder of the newest usable state that was offered; used by one thread at a time.

    Attributes
    ----------
    count
        Number of states that were read.
    refused
        Reason why the last bad message was rejected; empty once it was reported.
    trouble
        Reason why the last message was rejected, if no usable state came since.
    fault
        Reason to end the use of the states; empty while there is none.

    """

    fault = ''

    def __init__(self, check: StampCheck | None = None) -> None:
        """Take stamps that pass the check; without one all that differ from the last."""
        self._check = check
        self._lock = threading.Lock()
        self.count = 0
        self.refused = self.trouble = ''
        NewestState._forget(self)

    @property
    def replaced(self) -> bool:
        """True if the fault is one of a sensor that others replace."""
        return False

    def restart(self) -> None:
        """Forget the states, as before the first."""
        self._forget()

    def _read(self, raw: Raw) -> Array | None:
        """Return the state that was offered, or None after calling :meth:`refuse` why not."""
        return cast('Array', raw)

    def _forget(self) -> None:
        self._offered: tuple[int, Raw] | None = None
        self._used: tuple[int, Raw] | None = None
        self._newest: tuple[int, Array] | None = None
        self._recent: deque[tuple[int, Raw]] = deque(maxlen=KEPT)
        self._came = -math.inf
        self._early: int | None = None

    def refuse(self, reason: str) -> None:
        """Note that a message is of no use."""
        self.refused = self.trouble = reason

    def offer(self, stamp: int, raw: Raw) -> None:
        """Take the source of a state, and its stamp [ns]."""
        with self._lock:
            self._offered = (stamp, raw)
            self._recent.append(self._offered)

    @property
    def newest(self) -> tuple[int, Array] | None:
        """Stamp [ns] and value of the state that was read last, or None; from any thread."""
        return self._newest

    def state(self) -> tuple[int, Array] | None:
        """Return stamp [ns] and value of the newest usable state, or None."""
        offered = self._offered
        if offered is None or offered is self._used or not self._is_due(offered[0]):
            return self._newest
        x = self._read(offered[1])
        if x is None:  # after a restart it may be read
            return self._newest
        if self._early == offered[0] and self.refused == self.trouble:
            self.refused = ''  # the clock had only to catch up
        self._used, self._came = offered, time.monotonic()
        self._newest = (offered[0], x)
        self.count += 1
        self.trouble = ''
        return self._newest

    def _is_due(self, stamp: int) -> bool:
        """Return whether a state of this stamp is to be read; one that is ahead may be later."""
        newest = self._newest
        if self._check is None:
            return newest is None or stamp != newest[0]
        problem = self._check.problem(stamp)
        if problem:
            self.refuse(problem)
            self._early = stamp
            return False
        if newest is None or stamp > newest[0]:
            return True
        if self._check.problem(newest[0]):  # the clock was set back
            with self._lock:
                self._recent = deque([r for r in self._recent if r[0] == stamp], maxlen=KEPT)
            return True
        return False

    @property
    def covariances(self) -> Array | None:
        """Covariances that the source declares with the newest state; None where it does not."""
        return None

    @property
    def age(self) -> float:
        """
        Age of the newest usable state [s]; infinite before the first.

        The maximum of the time since its stamp by the clock of the node, and of the time since its
        arrival by a steady clock: the one may stop, the other ignores delays.
        """
        newest = self._newest
        if newest is None:
            return math.inf
        since = time.monotonic() - self._came
        return since if self._check is None else max(since, self._check.age(newest[0]))

    def state_near(self, stamp: int) -> Array | None:
        """Return the state whose stamp is nearest to a time [ns], of the last ones; or None."""
        with self._lock:
            last = math.inf if self._newest is None else self._newest[0]
            past = (r for r in self._recent if r[0] <= last)
            found = min(past, key=lambda r: abs(r[0] - stamp), default=None)
        return None if found is None else self._read(found[1])
