"""
100,000 flip-ups with what is not perfect from 1.5 to 6 times as large as stated.

Each scale takes some trials of the whole chain, by which the errors of the estimator are measured,
and 10,000 compiled ones that have these errors. How certain a fraction is follows from the number
of measured errors, not of trials: its interval comes from drawing the measured ones again.
Beside them stand 200 other trials of the whole chain at one scale; each appends a line to
``build/flip_ups.jsonl`` and is not made again, so delete it after a change. The figure is
``build/flip_ups.png``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
import os
from pathlib import Path
import time
from typing import NamedTuple

from evidence.benchmarks.lanes import EstimateError, fly, measured, Period
from evidence.benchmarks.row import Row
from evidence.benchmarks.trials import Ended, run_missing
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.one_thread import one_thread
from rolling_robotics.figures.states import saved_panels
from rolling_robotics.trials.chain import Imperfections
from rolling_robotics.trials.run import build, run_many
from scipy.stats import binomtest

EXPERIMENT, LAW = 'flip_up', 'closed_loop'
SCALES = (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0)
FIRST = 3000  # seed of the trials that measure the errors of the estimator
MEASURED = dict.fromkeys(SCALES, 32) | dict.fromkeys(SCALES[:3], 16) | {4.0: 128}  # how many
SEEDS = range(10_000, 20_000)
COMPARED, BESIDE = 4.0, range(2000, 2200)  # scale and seeds of trials of the whole chain
RUNS, FIGURE = Path('build/flip_ups.jsonl'), Path('build/flip_ups.png')


class SuccessRate(NamedTuple):
    """A fraction of successes with its interval of 95 %."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, successes: int, trials: int) -> SuccessRate:
        """Return the fraction in so many trials that have nothing in common, by Wilson."""
        interval = binomtest(successes, trials).proportion_ci(0.95, 'wilson')
        return cls(successes / trials, interval.low, interval.high)

    @classmethod
    def among(cls, good: NDArray[np.bool_], errors: NDArray[np.int64]) -> SuccessRate:
        """Return the fraction of trials with measured errors, drawing those again 2,000 times."""
        trials = np.bincount(errors)
        successes = np.bincount(errors, good, trials.size)
        drawn = np.random.default_rng(0).integers(trials.size, size=(2000, trials.size))
        rates = successes[drawn].sum(axis=1) / trials[drawn].sum(axis=1)
        low, high = np.quantile(rates, (0.025, 0.975))
        return cls(float(good.mean()), float(low), float(high))

    def room_to(self, other: SuccessRate) -> float:
        """Return the difference at which two fractions leave each other's interval."""
        less, more = sorted([self, other])
        return min(less.high - less.value, more.value - more.low)


class Flown(NamedTuple):
    """Results at a scale: fraction, failures by cause, fraction of BESIDE, CPU times [s]."""

    rate: SuccessRate
    ends: Counter[str]
    beside: SuccessRate | None
    chain: float
    compiled: float


def rows() -> Iterator[Row]:
    """Yield the figures; draw the fraction of successes over the scale."""
    started = time.perf_counter()
    flown = dict(zip(SCALES, _all(), strict=True))
    taken = time.perf_counter() - started
    trials = len(SEEDS) * len(SCALES)
    chain, compiled = (sum(getattr(f, n) for f in flown.values()) for n in ('chain', 'compiled'))
    yield Row(
        name=f'{trials} compiled flip-ups at {len(SCALES)} scales of the imperfections',
        value=taken / 60,
        unit='min',
        goal='at most 10',
        reference=f'by the clock on {len(os.sched_getaffinity(0))} processors; CPU: '
        f'{compiled:.0f} s, and {chain:.0f} s of the chain to measure the estimator',
    )
    rates = {scale: f.rate for scale, f in flown.items()}
    for scale, rate in rates.items():
        ends = ', '.join(f'{end} {n}' for end, n in flown[scale].ends.most_common() if end)
        name = f'flip-ups that succeed, imperfections {scale:g} times as large'
        against = f'{100 * rate.low:.1f} to {100 * rate.high:.1f}; {ends or "none failed"}'
        yield Row(name, 100 * rate.value, '%', reference=against)
    own = flown[COMPARED].beside
    if own is None:
        return
    whole = SuccessRate.of(sum(_beside()), len(BESIDE))
    yield Row(
        name=f'of {len(BESIDE)} seeds at {COMPARED:g}, compiled less whole chain',
        value=100 * (own.value - whole.value),
        unit='%',
        goal=f'is 0 within {100 * own.room_to(whole):.1f}',
        reference=f'{100 * own.value:.1f} ({100 * own.low:.1f} to {100 * own.high:.1f}), chain '
        f'{100 * whole.value:.1f} ({100 * whole.low:.1f} to {100 * whole.high:.1f})',
    )
    draw(rates, flown, whole, FIGURE)


def _all() -> list[Flown]:
    """Return what came of each scale, one in each of as many processes as processors."""
    context = multiprocessing.get_context('spawn')
    workers = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(workers, context, initializer=one_thread) as pool:
        return list(pool.map(_fly, SCALES))


def _fly(scale: float) -> Flown:
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    experiment, imperfections = build(EXPERIMENT), Imperfections().scaled(scale)
    period = Period(experiment, LAW, imperfections.motors)
    started = time.process_time()
    measured_on = range(FIRST, FIRST + MEASURED[scale])
    error = measured(experiment, LAW, imperfections, measured_on)
    between = time.process_time()
    rate, ends = _success_rate(period, imperfections, error, SEEDS)
    after = time.process_time()
    beside = _success_rate(period, imperfections, error, BESIDE)[0] if scale == COMPARED else None
    return Flown(rate, ends, beside, between - started, after - between)


def _success_rate(
    period: Period, imperfections: Imperfections, error: EstimateError, seeds: Sequence[int]
) -> tuple[SuccessRate, Counter[str]]:
    failures, _ = fly(period, imperfections, error, seeds)
    rate = SuccessRate.among(failures == '', error.drawn(imperfections, seeds))
    return rate, Counter(failures.tolist())


def _beside() -> list[bool]:
    """Return which trials of the whole chain succeed, from the file or by running them."""
    imperfections = Imperfections().scaled(COMPARED)

    def run(seeds: list[int]) -> Iterator[Ended]:
        for trial in run_many(EXPERIMENT, [LAW], seeds, imperfections):
            yield {'failure': trial.ended}

    ended = run_missing(RUNS, LAW, BESIDE, run)
    return [not end['failure'] for end in ended]


def draw(
    rates: dict[float, SuccessRate], flown: dict[float, Flown], whole: SuccessRate, path: Path
) -> None:
    """Write the figure: fractions of success with intervals, and of what else came."""
    scales = list(rates)
    value, low, high = 100 * np.array(list(rates.values())).T
    with saved_panels(path, 'a') as axes:
        a = axes['a']
        a.fill_between(scales, low, high, color='#1f6fb4', alpha=0.3)
        a.plot(scales, value, 'o-', color='#1f6fb4', label=f'succeed, {len(SEEDS)} each')
        for end, style in _frequent(flown):
            of = [100 * f.ends[end] / len(SEEDS) for f in flown.values()]
            a.plot(scales, of, style, color='gray', label=f'ended by: {end}')
        bars = [[100 * (whole.value - whole.low)], [100 * (whole.high - whole.value)]]
        a.errorbar(
            [COMPARED], [100 * whole.value], bars, fmt='s', color='#c1440e', capsize=3,
            label=f'whole chain, {len(BESIDE)}',
        )  # fmt: skip
        a.set(xlabel='imperfections, times those stated', ylabel='fraction of trials [%]')
        a.set_ylim(-3, 103)


def _frequent(flown: dict[float, Flown]) -> Sequence[tuple[str, str]]:
    total = sum((f.ends for f in flown.values()), Counter[str]())
    del total['']
    return list(zip([end for end, _ in total.most_common(2)], ('--', ':'), strict=False))
