"""Trials by the thousand: machine code that carries one in each element of a vector."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
import ctypes
from importlib.resources import files
import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.vector_source import vector_source, vectors
from rolling_dynamics.compiled import compiled_source
from rolling_dynamics.errors import ParameterError
from rolling_robotics.trials.estimate_error import EstimateError
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.period import Period, SIZES

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
