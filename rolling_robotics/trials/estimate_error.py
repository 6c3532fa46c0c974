"""
What the estimator tells less what is true, as a model that is measured on trials of the chain.

The error of the state of planar rolling goes on as ``A e + gain m + residual`` from one period to
the next. In m stands what the believed acceleration of the object's turn is off (``missed``), now,
one latency of the camera ago, and one and a half: the estimator's filter carries the object on by
a model with the believed inertia, without rolling resistance, knows nothing of a hand that holds
it, and corrects with late and hidden images. A and gain are fitted by least squares; the
residuals are kept as they were, in blocks of some images, by their time in the trial.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact.planar_rolling import STATE
from rolling_robotics.trials.chain import PERIOD
from rolling_robotics.trials.imperfections import Imperfections
from rolling_robotics.trials.judge import Judge
from rolling_robotics.trials.period import Period
from rolling_robotics.trials.run import moments

LENGTH = 20  # periods in a block, those of five images


@dataclass(frozen=True, eq=False)
class EstimateError:
    """
    The model.

    Attributes
    ----------
    A, gain
        See above; shapes (9, 9) and (9, 3).
    late
        How many periods ago the last two of m are, shape (2,).
    blocks
        Residuals, shape (blocks, LENGTH, 9).
    known
        For each window of LENGTH periods from the start of the warm-up on, which blocks were
        measured there; where there is none, those of the last one before that has some.

    """

    A: Array
    gain: Array
    late: NDArray[np.int64]
    blocks: Array
    known: tuple[NDArray[np.int64], ...]

    def drawn(self, seeds: Iterable[int]) -> NDArray[np.int64]:
        """Return which block a trial has in each window, shape (seeds, windows)."""
        most = np.array([len(blocks) for blocks in self.known])
        table = np.zeros((len(most), most.max()), dtype=np.int64)
        for row, blocks in zip(table, self.known, strict=True):
            row[: len(blocks)] = blocks
        where = np.arange(len(most))
        return np.array([table[where, _generator(seed).integers(most)] for seed in seeds])


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, 1])


def measured(period: Period, imperfections: Imperfections, seeds: Iterable[int]) -> EstimateError:
    """
    Return the model that fits trials of the whole chain, up to where they fail.

    Parameters
    ----------
    period
        Of the experiment and the law.
    imperfections, seeds
        Of the trials.

    Raises
    ------
    ParameterError
        There are no trials, or none tells anything.

    """
    latency = imperfections.camera.latency / PERIOD
    late = np.array([max(round(share * latency), 1) for share in (1.0, 1.5)])
    before, after, inputs = [], [], []
    for seed in seeds:
        error, missed = _series(period, imperfections, seed)
        before.append(error[:-1])
        after.append(error[1:])
        delayed = [np.concatenate([np.zeros(d), missed[:-d]])[: len(missed)] for d in late]
        inputs.append(np.column_stack([missed, *delayed])[:-1])
    if not before:
        raise ParameterError('an error model takes at least one trial, got none')
    given = [np.column_stack(pair) for pair in zip(before, inputs, strict=True)]
    X, Y = np.vstack(given), np.vstack(after)
    told = np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1)
    if not told.any():
        raise ParameterError('no trial has an estimate in two periods one after the other')
    fitted = np.linalg.lstsq(X[told], Y[told], rcond=None)[0]
    residuals = [y - x @ fitted for x, y in zip(given, after, strict=True)]
    windows = round((imperfections.warm_up + period.experiment.duration) / PERIOD / LENGTH)
    blocks, known = _blocks(residuals, windows)
    return EstimateError(fitted[: STATE.size].T, fitted[STATE.size :].T, late, blocks, known)


def _series(period: Period, imperfections: Imperfections, seed: int) -> tuple[Array, Array]:
    """Return error and what the acceleration is off in the periods of a trial until it fails."""
    judge, errors, missed = Judge(period.experiment), [], []
    draw, nothing = imperfections.draw(seed), np.full(STATE.size, np.nan)
    for now in moments(period.experiment, period.law_name, seed, imperfections):
        errors.append(nothing if now.seen is None else now.seen - now.truth)
        off = draw.inertia, draw.friction_torque
        missed.append(float(period.missed(now.truth, now.plant, now.control, now.held, *off)))
        judge.happened(now.time + PERIOD, *(() if now.held else now.events))
        judge.look(now.time + PERIOD, now.angle)
        if judge.failure:
            break
    return np.array(errors), np.array(missed)


def _blocks(residuals: list[Array], windows: int) -> tuple[Array, tuple[NDArray[np.int64], ...]]:
    """Return the blocks that are complete, and which of them belong to each window."""
    blocks: list[Array] = []
    known: list[NDArray[np.int64]] = []
    for k in range(windows):
        first = len(blocks)
        for series in residuals:
            block = series[k * LENGTH : (k + 1) * LENGTH]
            if len(block) == LENGTH and np.isfinite(block).all():
                blocks.append(block)
        known.append(np.arange(first, len(blocks)))
    if not blocks:
        raise ParameterError(f'no trial has an estimate throughout {LENGTH} periods')
    there = np.flatnonzero([here.size for here in known])
    before = there[np.maximum(np.searchsorted(there, np.arange(windows), side='right') - 1, 0)]
    return np.array(blocks), tuple(known[k] for k in before)
