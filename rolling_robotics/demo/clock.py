"""Choice of wall-clock or simulated time: whether this machine keeps the clock, and if not."""

from __future__ import annotations

from collections.abc import Callable
import os
import time

from rolling_robotics.bringup import realtime_allowed
from rolling_robotics.trials.trial import INCONCLUSIVE, say

PERIOD, TURNS = 1e-3, 400  # of the loop that is tried [s]
LATE = 0.05  # of its iterations that may start a period late, or later
MISSED = 0.1  # of its deadlines in a second that the loop of a node may miss


def unpunctual() -> str:
    """
    Return the reason why loops of nodes would be late on this computer, or the empty string.

    Nodes of a demonstration run in real time if real-time priority is permitted, other work leaves
    a processor free, and a loop of 1 kHz that only sleeps wakes in time.
    """
    if not realtime_allowed():
        return 'no real-time priority is permitted'
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors / 2:
        return f'{load:.1f} processes are at work on {processors} processors'
    late = late_fraction()
    if late > LATE:
        return f'a bare loop of {1 / PERIOD:g} Hz woke late in {late:.0%} of its iterations'
    return ''


def late_fraction(
    now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Return the fraction of iterations of a loop that start a period late, or later."""
    late, due = 0, now()
    for _ in range(TURNS):
        due += PERIOD
        sleep(max(due - now(), 0.0))
        behind = now() - due
        if behind > PERIOD:
            late += 1
            due += behind - behind % PERIOD  # missed iterations are not repeated
    return late / TURNS


def too_late(fraction: float, node: str) -> str:
    """Return why a trial whose node missed so many deadlines is inconclusive, or ''."""
    if fraction <= MISSED:
        return ''
    return (
        f'{node} missed {fraction:.0%} of its deadlines in a second, more than {MISSED:.0%}: '
        'this machine did not keep the clock'
    )


def in_simulated_time(wanted: bool | None) -> bool:
    """Return whether to run in simulated time: as is wanted, else where the clock is not kept."""
    if wanted is not None:
        return wanted
    why = unpunctual()
    if why:
        say(f'simulated time, since this machine does not keep the clock: {why}')
    return bool(why)


def judged(run: Callable[[bool], int], wanted: bool | None, *, sim: bool) -> int:
    """
    Run a demonstration, once more in simulated time if it is inconclusive in real time.

    Parameters
    ----------
    run
        Runs it in simulated or real time, and returns its exit status.
    wanted
        Whether simulated time was requested; None without a request. A run requested in real time
        is not repeated.
    sim
        Whether the first run is in simulated time.

    Returns
    -------
    int
        Exit status of the last run.

    """
    outcome = run(sim)
    if outcome != INCONCLUSIVE or wanted is False or sim:
        return outcome
    say('once more, in simulated time')
    return run(True)
