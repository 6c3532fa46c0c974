"""Whether this machine keeps the clock: what runs on it is judged by wall-clock time only then."""

from __future__ import annotations

from collections.abc import Callable
import os
import time

from rolling_robotics.bringup import realtime_allowed

PERIOD, TURNS = 1e-3, 400  # of the loop that is tried [s]
LATE_SHARE = 0.05  # of its turns that may begin a period late, or later


def unpunctual() -> str:
    """
    Return why the loops of nodes would be late on this machine, or the empty string.

    Nodes of a demonstration keep the clock where real-time priority is permitted, where other work
    leaves a processor free, and where a loop of 1 kHz that only sleeps wakes in time.
    """
    if not realtime_allowed():
        return 'no real-time priority is permitted'
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors / 2:
        return f'{load:.1f} processes are at work on {processors} processors'
    late = late_share()
    if late > LATE_SHARE:
        return f'a bare loop of {1 / PERIOD:g} Hz woke late in {late:.0%} of its iterations'
    return ''


def late_share(
    now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Return the share of turns of a loop that begin a period late, or later."""
    late, due = 0, now()
    for _ in range(TURNS):
        due += PERIOD
        sleep(max(due - now(), 0.0))
        behind = now() - due
        if behind > PERIOD:
            late += 1
            due += behind - behind % PERIOD  # what was missed is not made up for
    return late / TURNS
