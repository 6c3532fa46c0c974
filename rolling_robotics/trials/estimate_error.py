"""
What the estimator says less what is true, as it was measured on trials of the whole chain.

An estimator's error follows from image noise, hidden images, latency, and from what its model of
the object does not know: the inertia, resistance to rolling, a hand that holds the object. All of
that is in a measured series from the start of the warm-up on. A compiled trial has the error of a
measured one whose object is turned and as heavy alike. With the error of its own it ends as that
trial did.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.trials.chain import PERIOD
from rolling_robotics.trials.imperfections import Draw, Imperfections
from rolling_robotics.trials.judge import Judge
from rolling_robotics.trials.prepare import LaboratorySetup
from rolling_robotics.trials.run import moments


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
