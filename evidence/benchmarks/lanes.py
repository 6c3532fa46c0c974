"""Trials by the thousand: machine code that carries one in each element of a vector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
import ctypes
from importlib.resources import files
import os
from typing import NamedTuple

from evidence.benchmarks.period import Period, SIZES
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.vector_source import vector_source, vectors
from rolling_dynamics.compiled import compiled_source
from rolling_dynamics.errors import ParameterError
from rolling_robotics.trials.chain import Draw, Imperfections, PERIOD
from rolling_robotics.trials.run import Judge, LaboratorySetup, moments


class EstimateError(NamedTuple):
    """
    Measured errors.

    Attributes
    ----------
    series
        Tangent vectors of rolling in the plane by period, shape (trials, periods, 9); after the
        end of a trial that failed those of another one.
    kinds
        What is alike in trials whose errors stand for each other.
    successes
        Which of them succeeded.

    """

    series: Array
    kinds: tuple[tuple[float, float], ...]
    successes: NDArray[np.bool_]

    def drawn(self, imperfections: Imperfections, seeds: Iterable[int]) -> NDArray[np.int64]:
        """Return which of the series a trial has, by its random seed; shape (seeds,), indices."""
        every = np.arange(len(self.kinds))
        found = []
        for seed in seeds:
            kind = _kind(imperfections.draw(seed))
            alike = every[[k == kind for k in self.kinds]]
            found.append(np.random.default_rng([seed, 1]).choice(alike if alike.size else every))
        return np.array(found, dtype=np.int64)


def _kind(draw: Draw) -> tuple[float, float]:
    return draw.inertia, draw.turn


def measured(
    experiment: LaboratorySetup, law_name: str, imperfections: Imperfections, seeds: Sequence[int]
) -> EstimateError:
    """
    Return the errors in trials of the whole chain.

    Parameters
    ----------
    experiment, law_name
        What is done, and in which way.
    imperfections, seeds
        Of the trials.

    Raises
    ------
    ParameterError
        There are no trials.

    """
    if not seeds:
        raise ParameterError('errors are measured on at least one trial, got none')
    found = [_series(experiment, law_name, seed, imperfections) for seed in seeds]
    kinds = tuple(_kind(imperfections.draw(seed)) for seed in seeds)
    periods = round((imperfections.warm_up + experiment.duration) / PERIOD)
    whole = [len(series) == periods for series, _ in found]
    longest = max(range(len(found)), key=lambda k: len(found[k][0]))
    out = []
    for k, (series, _) in enumerate(found):
        alike = [j for j, kind in enumerate(kinds) if whole[j] and kind == kinds[k]]
        other = found[alike[k % len(alike)] if alike else longest][0]
        both = np.concatenate([series, other[len(series) :]])
        held = np.repeat(both[-1:], periods - len(both), axis=0)
        out.append(np.concatenate([both, held]))
    return EstimateError(np.array(out), kinds, np.array([good for _, good in found]))


def _series(
    experiment: LaboratorySetup, law_name: str, seed: int, imperfections: Imperfections
) -> tuple[Array, bool]:
    """Return the errors of a trial until it fails, and whether it succeeded."""
    difference = experiment.laboratory.model()[0].difference
    judge, errors = Judge(experiment), [np.zeros(difference.numel_out(0))]
    for now in moments(experiment, law_name, seed, imperfections, judge):
        error = errors[-1]  # without an estimate the last error stays
        if now.seen is not None:
            error = np.array(difference(now.seen, now.truth)).ravel()
        errors.append(error)
    return np.array(errors[1:]), not judge.failure


TOGETHER = 64  # trials of one call of machine code
BEGINS = dict(zip(SIZES, np.cumsum([0, *SIZES.values()]).tolist(), strict=False))  # in a state


class Ended(NamedTuple):
    """
    How trials ended, shape (trials,) each.

    Attributes
    ----------
    failures
        What ended them, empty for success.
    times
        When, from the release of the object on [s].

    """

    failures: NDArray[np.str_]
    times: Array


class TrialLanes:
    """
    Trials of one law on the laboratory, compiled.

    What a trial does follows from its seed alone, whatever is carried beside it.
    """

    def __init__(self, period: Period, threads: int | None = None) -> None:
        """
        Wait for the compiler where the law is new to it.

        Parameters
        ----------
        period
            What is done in each period.
        threads
            How many share the work; None for one on each processor.

        Raises
        ------
        ParameterError
            There is no C compiler, or it must not be used.

        """
        self._period = period
        file = compiled_source('trials', _source(period), vectors().target('double'))
        if file is None:
            raise ParameterError(
                'compiled trials need machine code: a C compiler that works, and no '
                'ROLLING_COMPILE=never; run_many carries out the same trials without'
            )
        self._fly = ctypes.CDLL(str(file)).fly
        self._threads = threads or len(os.sched_getaffinity(0))

    def run(
        self, imperfections: Imperfections, error: EstimateError, seeds: Sequence[int]
    ) -> Ended:
        """
        Carry out a trial for each random seed.

        Parameters
        ----------
        imperfections
            What is off; the draws are those of the chain for the same seed.
        error
            What the estimator's error is at these imperfections.
        seeds
            Of the trials.

        """
        rows = np.ascontiguousarray(self._period.periods(imperfections.warm_up))
        series = np.ascontiguousarray(error.series)
        states, off = (a.T.copy() for a in self._period.starts(imperfections, seeds))
        chosen = error.drawn(imperfections, seeds).astype(ctypes.c_long)

        def fly(first: int) -> None:
            part = slice(first, first + TOGETHER)
            here = (rows, series, chosen[part], off[part], states[part])
            size, count = (ctypes.c_long(len(a)) for a in (here[-1], rows))
            self._fly(size, count, *(ctypes.c_void_p(a.ctypes.data) for a in here))

        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(fly, range(0, len(states), TOGETHER)))
        names = np.array(['', *self._period.failures])
        failures = states[:, BEGINS['failure']].astype(int)
        return Ended(names[failures], states[:, BEGINS['time']])


def _source(period: Period) -> str:
    """Return the C of a period and of what takes one after the other."""
    function = period.function
    sizes = {
        'NS': function.numel_in(0),
        'NO': function.numel_in(1),
        'NR': function.numel_in(2),
        'NE': function.numel_in(3),
        'FAILURE': BEGINS['failure'],
    }
    return '\n'.join(
        [
            *vectors().preamble('double'),
            *(f'#define {name} {size}' for name, size in sizes.items()),
            *vector_source(function),
            files(__package__).joinpath('lanes.c').read_text(),
        ]
    )
