"""
What a demonstration has proved, and when it is run again: one rule for all of them.

A run whose nodes could not keep the clock, or of which samples are missing, proves nothing: it is
void, whatever came out, and is run once more in simulated time.
"""

from __future__ import annotations

from collections.abc import Callable

from rolling_robotics.demo.clock import unpunctual

REACHED, MISSED, VOID = 0, 1, 4  # exit statuses
VOID_SHARE = 0.1  # of its deadlines in a second that a loop may miss


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def too_late(share: float, node: str) -> str:
    """Return why a run is void whose node missed this share of its deadlines; empty if not."""
    if share <= VOID_SHARE:
        return ''
    return (
        f'{node} missed {share:.0%} of its deadlines in a second, more than {VOID_SHARE:.0%}: '
        'this machine did not keep the clock'
    )


def margin_text(error: float, tolerance: float, unit: str = '') -> str:
    """Return by how much an error stays below its tolerance, both in a unit."""
    times = f'{tolerance / error:.3g} times' if error > 0.0 else 'no error'
    return f'margin: {times} ({error:.3g} where {tolerance:g} is allowed) {unit}'.rstrip()


def in_simulated_time(wanted: bool | None) -> bool:
    """Return whether to run in simulated time: as is wanted, else where the clock is not kept."""
    if wanted is not None:
        return wanted
    why = unpunctual()
    if why:
        say(f'simulated time, since this machine does not keep the clock: {why}')
    return bool(why)


def judged(
    run: Callable[[bool], int], wanted: bool | None, *, sim: bool, repeats: bool = False
) -> int:
    """
    Run a demonstration, once more if it is void, and return its last exit status.

    Parameters
    ----------
    run
        Runs it in simulated time, or by the clock, and returns REACHED, MISSED or VOID.
    wanted
        Whether simulated time was asked for; None if nothing was. What was asked to run by the
        clock is not run again.
    sim
        Whether the first run is in simulated time.
    repeats
        Whether it repeats parts that are void by itself; then it is not repeated whole in
        simulated time.

    """
    outcome = run(sim)
    if outcome != VOID or wanted is False or (sim and repeats):
        return outcome
    say('once more, in simulated time')
    return run(True)
