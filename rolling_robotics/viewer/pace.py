"""A steady pace: ticks at absolute times, so that the time of the work does not add up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
import time


def ticks(
    stop: Event, rate: float, clock: Callable[[], float] = time.monotonic
) -> Iterator[float]:
    """
    Yield the time [s] at each tick until asked to stop.

    Parameters
    ----------
    stop
        Set to end.
    rate
        Ticks a second. A tick that work or the machine made late does not move those after it;
        those that were missed altogether are left out.
    clock
        Steady clock [s].

    """
    begin, count = clock(), 0
    while not stop.wait(max(0.0, begin + count / rate - clock())):
        now = clock()
        yield now
        count = max(count + 1, int((clock() - begin) * rate))
