"""The laboratory: experiments on the emulated hardware, faults, and the control loop in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.loop_timing import LoopTiming, measure
from benchmarks.row import Row
import numpy as np
from rolling_robotics.trials.fault_table import FAULTS, inject_fault
from rolling_robotics.trials.imperfections import Imperfections, STATED_SCALE
from rolling_robotics.trials.prepare import CRITERIA
from rolling_robotics.trials.run import run_many
from rolling_robotics.trials.trial import Record

TRIALS = range(2000, 2100)  # seeds on which nothing was tuned
SECONDS = 60.0  # of the loop
DAMPED = range(2000, 2006)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    yield from _flip_up()
    yield from _throw_catch()
    yield from _damping()
    yield from _faults()
    yield from _loop(busy=False)
    yield from _loop(busy=True)


def _successes(name: str, trials: Sequence[Record], goal: str) -> Row:
    slips = sum(any(e == 'slip' for _, e in trial.events) for trial in trials)
    limited = sum(trial.values['limited'] > 0 for trial in trials)
    failures = [f'{trial.seed}: {trial.ended}' for trial in trials if trial.ended]
    return Row(
        name=name,
        value=float(len(trials) - len(failures)),
        unit=f'of {len(trials)}',
        goal=goal,
        reference=f'with slip {slips}, with a joint at a limit {limited}'
        + (f'; first failure {failures[0]}' if failures else ''),
    )


def _flip_up() -> Iterator[Row]:
    laws = {
        'open_loop': ('replay', ''),
        'replay_balance': ('replay, then balance', 'at most 49'),
        'closed_loop': ('feedback, then balance', f'at least {len(TRIALS)}'),
    }
    trials = list(run_many('flip_up', laws, TRIALS, Imperfections().scaled(STATED_SCALE)))
    for law, (name, goal) in laws.items():
        own = [trial for trial in trials if trial.law == law]
        yield _successes(f'flip-up: {name}', own, goal)


def _throw_catch() -> Iterator[Row]:
    trials = list(run_many('throw_catch', ['closed_loop'], TRIALS))
    yield _successes('throw and catch', trials, f'at least {0.95 * len(TRIALS):g}')


def _damping() -> Iterator[Row]:
    damped, free = (
        np.array(
            [
                CRITERIA['damping'].outcome(t).time
                for t in run_many('damping', [law], DAMPED, to_the_end=True, duration=duration)
            ]
        )
        for law, duration in (('closed_loop', 5.0), ('open_loop', 30.0))
    )
    yield Row(
        name='rocking: time to rest alone over that under control, least',
        value=float((free / damped).min()),
        unit='',
        goal='at least 5',
        reference=f'{np.median(free):.3g} s alone, {np.median(damped):.3g} s under control, '
        f'to a tenth; {len(DAMPED)} trials each',
    )


def _faults() -> Iterator[Row]:
    for fault in FAULTS:
        row = inject_fault(fault)
        faster = row.speed_after / row.speed_before
        yield Row(
            name=f'{row.name}: {"hand at rest after" if fault.stops else "borne"}',
            value=row.rest if fault.stops else faster,
            unit='s' if fault.stops else 'times the commanded speed',
            goal='at most 0.5' if fault.stops else f'at most {fault.faster}',
            reference=f'{row.reaction or "nothing told"}, told after {1e3 * row.noticed:.0f} ms; '
            f'{faster:.2f} times the speed, {1e3 * row.way:.0f} mm',
        )


def _loop(*, busy: bool) -> Iterator[Row]:
    found: LoopTiming = measure(SECONDS, busy=busy)
    loop, floor = found.loop, found.floor
    also = ', one core kept busy' if busy else ''
    strict = not busy
    yield Row(
        name=f'loop of 1 kHz{also}: turns a second',
        value=loop.rate,
        unit='Hz',
        goal='at least 999' if strict else '',
        reference=f'bare thread {floor.rate:.1f}, '
        f'both {"in real time" if found.in_real_time else "of ordinary priority"}; '
        f'object {found.angle:+.3f} rad from upright',
    )
    yield Row(
        name=f'loop of 1 kHz{also}: deadlines missed above the floor',
        value=100 * (loop.missed - floor.missed),
        unit='%',
        goal='at most 0.1' if strict else '',
        reference=f'{100 * loop.missed:.3g} % of {len(loop.jitter)}, '
        f'bare thread {100 * floor.missed:.3g} %',
    )
    yield Row(
        name=f'loop of 1 kHz{also}: deadlines missed while the bare thread woke in time',
        value=100 * loop.missed_beside(floor),
        unit='%',
        reference='within 0.2 ms, from a period before to a period after',
    )
    late, bare = (1e6 * float(np.quantile(t.jitter, 0.99)) for t in (loop, floor))
    yield Row(
        name=f'loop of 1 kHz{also}: jitter above the floor, 99 of 100',
        value=late - bare,
        unit='us',
        goal='at most 300' if strict else '',
        reference=f'{late:.0f} us, bare thread {bare:.0f} us',
    )
    yield Row(
        name=f"loop of 1 kHz{also}: controller's own work",
        value=1e6 * float(np.median(loop.work)),
        unit='us',
        goal='at most 50' if strict else '',
        reference=f'median; mean {1e6 * loop.work.mean():.1f}, '
        f'99 of 100 {1e6 * float(np.quantile(loop.work, 0.99)):.1f} us',
    )
