"""What a demonstration of the laboratory tells: a verdict on each trial, successes counted."""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path

from rolling_robotics.demo.figures.laboratory import draw
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import TrialSeen
from rolling_robotics.demo.laboratory.verdict import end_error, failure, rest_time, unjudged
from rolling_robotics.demo.verdict import margin_text, MISSED, REACHED, say, VOID
from rolling_robotics.hardware import EMULATED


def trial_text(demo: LaboratoryDemo, trial: TrialSeen) -> str:
    """Return a line on a trial."""
    void, failed = unjudged(demo, trial), failure(demo, trial)
    verdict = f'not judged: {void}' if void else f'failure: {failed}' if failed else 'success'
    parts = [f'at most {end_error(demo, trial):.4f} rad off in the end']
    if trial.balancing_since:
        parts.append(f'balancing since {trial.balancing_since:.3f} s')
    if demo.faster:
        parts.append(f'at rest after {rest_time(demo, trial):.2f} s')
    happened = len(trial.happened()) - demo.flights
    if happened > 0:
        parts.append(f'{happened} times off the plate or slipping')
    return (
        f'{trial.law:<14} seed {trial.seed:>3} ({trial.offset.text()}): {verdict}; '
        + ', '.join(parts)
    )


def conclude(demo: LaboratoryDemo, seen: Sequence[TrialSeen], hardware: str, out: Path) -> int:
    """
    Print what came out, beside the same trials in lockstep, and draw the figure.

    Returns
    -------
    int
        REACHED if every trial under feedback has succeeded, MISSED if one has failed, VOID if none
        has failed but one could not be judged.

    """
    void = [t for t in seen if unjudged(demo, t)]
    judged = [t for t in seen if t not in void]
    beside = in_lockstep(demo, seen, hardware)
    say('')
    say('successes          through ROS     in lockstep')
    for law in demo.lengths():
        through_ros = [not failure(demo, t) for t in judged if t.law == law]
        say(f'  {law:<14}  {_count(through_ros):>12}    {_count(beside.get(law, [])):>12}')
    figure = out / f'{demo.experiment}.png'
    draw(demo, seen, figure)
    say(f'figure: {figure}')
    failed = [t for t in judged if t.law == demo.law and failure(demo, t)]
    if not failed and any(t.law == demo.law or demo.faster for t in void):
        say(f'{len(void)} of {len(seen)} trials could not be judged: the demonstration is void')
        return VOID
    worst = max((end_error(demo, t) for t in judged if t.law == demo.law), default=math.nan)
    if math.isfinite(worst):
        say(margin_text(worst, demo.tolerance, 'rad'))
    reached = is_faster(demo, judged) and not failed
    say('every trial under feedback has succeeded' if reached else 'the demonstration has failed')
    return REACHED if reached else MISSED


def is_faster(demo: LaboratoryDemo, seen: Sequence[TrialSeen]) -> bool:
    """Tell whether feedback brings the object to rest as soon as is asked, and say how soon."""
    if not demo.faster:
        return True
    other = next(iter(demo.compared))
    times = {law: [rest_time(demo, t) for t in seen if t.law == law] for law in (demo.law, other)}
    slowest, soonest = max(times[demo.law], default=math.inf), min(times[other])
    say(
        f'at rest after {slowest:.2f} s at most; without control after {soonest:.2f} s at least: '
        f'{soonest / slowest:.3g} times faster, {demo.faster:g} is asked'
    )
    return slowest * demo.faster <= soonest


def in_lockstep(
    demo: LaboratoryDemo, seen: Sequence[TrialSeen], hardware: str
) -> dict[str, list[bool]]:
    """
    Return whether the trials of the same seeds succeed without topics, by law.

    In space they are those of a simulated hand, whatever the hardware.
    """
    out: dict[str, list[bool]] = {}
    if hardware == EMULATED and not demo.spatial:
        from rolling_robotics.trials.run import run_many  # noqa: PLC0415

        for law, length in demo.lengths().items():
            seeds = [t.seed for t in seen if t.law == law]
            done = run_many(demo.experiment, [law], seeds, duration=length)
            out[law] = [not trial.failure for trial in done]
        return out
    from rolling_robotics.demo.laboratory.lockstep_trials import LockstepTrials  # noqa: PLC0415

    trials = LockstepTrials(demo)
    for t in seen:
        again = trials.run(t.law, t.seed, t.offset)
        out.setdefault(t.law, []).append(not failure(demo, again))
    return out


def _count(succeeded: Sequence[bool]) -> str:
    return f'{sum(succeeded)} of {len(succeeded)}' if succeeded else '-'
