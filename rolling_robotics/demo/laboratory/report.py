"""What a demonstration of the laboratory tells: a verdict on each trial, successes counted."""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path

from rolling_robotics.demo.figures.laboratory import draw
from rolling_robotics.demo.laboratory.demos import LaboratoryDemo
from rolling_robotics.demo.laboratory.trial_record import TrialSeen
from rolling_robotics.demo.laboratory.verdict import end_error, failure, rest_time
from rolling_robotics.demo.report import say
from rolling_robotics.experiment import EMULATED


def trial_text(demo: LaboratoryDemo, trial: TrialSeen, failed: str) -> str:
    """Return a line on a trial."""
    verdict = f'failure: {failed}' if failed else 'success'
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


def conclude(demo: LaboratoryDemo, seen: Sequence[TrialSeen], hardware: str, out: Path) -> bool:
    """
    Print what came out, beside the same trials in lockstep, and draw the figure.

    Returns
    -------
    bool
        Whether every trial under feedback has succeeded.

    """
    beside = in_lockstep(demo, seen, hardware)
    say('')
    say('successes          through ROS     in lockstep')
    for law in demo.lengths():
        through_ros = [not failure(demo, t) for t in seen if t.law == law]
        say(f'  {law:<14}  {_count(through_ros):>12}    {_count(beside.get(law, [])):>12}')
    figure = out / f'{demo.experiment}.png'
    draw(demo, seen, figure)
    say(f'figure: {figure}')
    failed = [t for t in seen if t.law == 'closed_loop' and failure(demo, t)]
    faster = is_faster(demo, seen)
    reached = faster and not failed
    say('every trial under feedback has succeeded' if reached else 'the demonstration has failed')
    return reached


def is_faster(demo: LaboratoryDemo, seen: Sequence[TrialSeen]) -> bool:
    """Tell whether feedback brings the object to rest as soon as is asked, and say how soon."""
    if not demo.faster:
        return True
    other = next(iter(demo.compared))
    times = {
        law: [rest_time(demo, t) for t in seen if t.law == law] for law in ('closed_loop', other)
    }
    slowest, soonest = max(times['closed_loop'], default=math.inf), min(times[other])
    say(
        f'at rest after {slowest:.2f} s at most; without control after {soonest:.2f} s at least: '
        f'{soonest / slowest:.3g} times faster, {demo.faster:g} is asked'
    )
    return slowest * demo.faster <= soonest


def in_lockstep(
    demo: LaboratoryDemo, seen: Sequence[TrialSeen], hardware: str
) -> dict[str, list[bool]]:
    """Return whether the trials of the same seeds succeed without topics, by law."""
    out: dict[str, list[bool]] = {}
    if hardware == EMULATED:
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
