"""What trials have shown together: successes by law, the worst margin, what is inconclusive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

from rolling_robotics.trials.trial import Outcome, Record, Trial

REACHED, MISSED, INCONCLUSIVE = 0, 1, 4  # exit statuses
ROS, LOCKSTEP = 'through ROS', 'in lockstep'  # what carries trials out


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def outcomes(trials: Sequence[Trial], records: Sequence[Record]) -> list[Outcome]:
    """Return the outcomes of those trials that have a record."""
    return [t.criterion.outcome(r) for t, r in zip(trials, records, strict=False)]


def margin_text(error: float, tolerance: float, unit: str = '') -> str:
    """Return by how much an error stays below its tolerance, both in a unit."""
    times = f'{tolerance / error:.3g} times' if error > 0.0 else 'no error'
    return f'margin: {times} ({error:.3g} where {tolerance:g} is allowed) {unit}'.rstrip()


def report(
    trials: Sequence[Trial],
    found: Sequence[Outcome],
    law: str,
    *,
    faster: float = 0.0,
    driver: str = ROS,
    beside: Sequence[Outcome] | None = None,
) -> int:
    """
    Print each trial and the successes of each law; return the exit status.

    Parameters
    ----------
    trials, found
        The trials, and their outcomes.
    law
        The law whose trials have to succeed.
    faster
        How many times sooner than under the last of the other laws the goal has to be reached
        under this one; 0 where that is not asked.
    driver
        What carried them out, in words.
    beside
        Outcomes of the same trials in lockstep as well; None where there are none.

    Returns
    -------
    int
        REACHED if every trial of the law has succeeded, MISSED if one has failed, INCONCLUSIVE if
        none has failed but one is inconclusive.

    """
    by_law: dict[str, list[Outcome]] = {}
    for trial, one in zip(trials, found, strict=True):
        by_law.setdefault(trial.law, []).append(one)
        said = f'inconclusive: {one.inconclusive}' if one.inconclusive else ''
        said = said or (f'failure: {one.failure}' if one.failure else 'success')
        error = f'error {one.error:.4g} {one.unit}'.rstrip() if math.isfinite(one.error) else ''
        say('; '.join(part for part in (f'{trial.text()}: {said}', error, one.text) if part))
    say('')
    say(f'successes           {driver}{"" if beside is None else f"     {LOCKSTEP}"}')
    for name, own in by_law.items():
        row = f'  {name:<14}  {_count(own):>12}'
        if beside is not None:
            same = [one for trial, one in zip(trials, beside, strict=False) if trial.law == name]
            row = f'{row}    {_count(same):>12}'
        say(row)
    counted = list(found) if faster else by_law[law]
    judged = [one for one in by_law[law] if not one.inconclusive]
    rest = sum(bool(one.inconclusive) for one in counted)
    known = [one for one in judged if math.isfinite(one.error)]
    if known:
        worst = max(known, key=lambda one: one.error / one.tolerance)
        say(margin_text(worst.error, worst.tolerance, worst.unit))
    failed = any(one.failure for one in judged)
    if rest and not failed:
        say(f'inconclusive: {rest} of {len(counted)} trials')
        return INCONCLUSIVE
    if failed or (faster and not _is_faster(by_law, law, faster)):
        say('the demonstration has failed')
        return MISSED
    say('every trial under feedback has succeeded')
    return REACHED


def _is_faster(by_law: Mapping[str, Sequence[Outcome]], law: str, faster: float) -> bool:
    """Return, and print, whether a law reaches the goal so many times sooner than the last."""
    slowest = max(one.time for one in by_law[law])
    soonest = min(one.time for one in list(by_law.values())[-1])
    say(
        f'at rest after {slowest:.2f} s at most; without control after {soonest:.2f} s at least: '
        f'{soonest / slowest:.3g} times faster, {faster:g} is asked'
    )
    return slowest * faster <= soonest


def _count(found: Sequence[Outcome]) -> str:
    judged = [one for one in found if not one.inconclusive]
    return f'{sum(not one.failure for one in judged)} of {len(judged)}' if judged else '-'
