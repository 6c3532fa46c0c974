"""Fixed and adaptive steps of trajectories to their goals, with location of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
import math

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.batch.kernels import Kernel
from rolling_dynamics.batch.trajectories import Array, Attempt, Batch, Index, NO_EVENT, NOT_FINITE
from rolling_dynamics.simulation.compiled_solver import (
    FIRST_STEP,
    MAX_FACTOR,
    MIN_FACTOR,
    SAFETY,
)
from rolling_dynamics.simulation.dormand_prince import (
    GUARDED,
    interpolation_weights,
    sample_slopes,
    SAMPLES,
)
from rolling_dynamics.simulation.stepper import SHORTEST

NONE = np.zeros(0, np.intp)


class FixedSteps:
    """Classical Runge-Kutta steps of order 4."""

    def __init__(self, kernel: Kernel, max_step: float, slip_row: int | None) -> None:
        """
        Set the longest step [s]; the remaining time is divided evenly.

        The row of ``Batch.levels`` holds how far slip may turn in a step.
        """
        self._kernel, self._max_step, self._slip_row = kernel, max_step, slip_row

    def advance(self, batch: Batch, number: int, _watcher: object = None) -> tuple[Index, Index]:
        """
        Advance the running trajectories of a mode to their goals, or to the first event of each.

        Parameters
        ----------
        batch, number
            Trajectories, and the index of the mode.

        Returns
        -------
        tuple
            The trajectories that reached an event, and the index of its guard, or ``NOT_FINITE``
            where the next state is not finite. They stay at the event, or at the last finite
            state.

        """
        while self._kernel.carry(batch, number, self._max_step):
            index = np.flatnonzero(batch.h)
            guard = self._located(batch, index, number)
            fallen = guard != NO_EVENT
            if fallen.any():
                return index[fallen], guard[fallen]
        return NONE, NONE

    def _located(self, batch: Batch, index: Index, number: int) -> Index:
        """Move trajectories to the event in their next step, or to its end; return the guards."""
        padded = np.resize(index, -(-index.size // self._kernel.width) * self._kernel.width)
        start = batch.copied(padded)
        unwatched = replace(start, levels=np.full_like(start.levels, -np.inf))
        high = self._steady(unwatched, start.levels, number)
        end, below = self._looked_at(unwatched, start.levels, high, number)
        hit = below.any(axis=0)
        low, high = np.zeros(padded.size), high.copy()
        while True:
            middle = (low + high) / 2
            wide = hit & (high - low > np.spacing(start.t + high) / 4)
            wide &= (low < middle) & (middle < high)
            if not wide.any():
                break
            late = self._looked_at(unwatched, start.levels, middle, number)[1].any(axis=0)
            low, high = np.where(wide & ~late, middle, low), np.where(wide & late, middle, high)
        if hit.any():
            end, below = self._looked_at(unwatched, start.levels, high, number)
        k = index.size
        batch.x[:, index], batch.t[index] = end.x[:, :k], end.t[:k]
        first = np.where(hit, below.argmax(axis=0), NO_EVENT)[:k]
        return np.where(first == len(below) - 1, NOT_FINITE, first)

    def _steady(self, start: Batch, levels: Array, number: int) -> Array:
        """Return steps in which slip keeps its direction, as ``Stepper`` takes them."""
        h, watched = start.h.copy(), start.levels.copy()
        if self._slip_row is None:
            return h
        watched[self._slip_row] = levels[self._slip_row]
        start = replace(start, levels=watched)
        while True:
            end = self._carried(start, h, number)
            turns = (end.t != end.goal) & (h > SHORTEST)
            if not turns.any():
                return h
            h = np.where(turns, h / 2, h)

    def _carried(self, start: Batch, h: Array, number: int) -> Batch:
        """Advance trajectories by one step of h, where possible."""
        end = replace(
            start, x=start.x.copy(), t=start.t.copy(), goal=start.t + h, h=np.zeros_like(h)
        )
        self._kernel.carry(end, number, np.inf)
        return end

    def _looked_at(
        self, start: Batch, levels: Array, h: Array, number: int
    ) -> tuple[Batch, Array]:
        """Return trajectories after a step, the guards that fell, and which are not finite."""
        end = self._carried(start, h, number)
        lost = end.t != end.goal
        guards = self._kernel.guards(end)
        fallen = ~(guards >= levels[: len(guards)]) & ~lost
        return end, np.vstack([fallen, lost])


SECTIONS = 28  # of a part of a step in which the minimum of a guard is sought
GOLDEN = (math.sqrt(5) - 1) / 2
CROWDED = 0.7  # fraction of running trajectories below which they are compacted
WIDE = (0.0, math.inf)  # a tolerance that every step meets
Watcher = Callable[[Index, Batch, Array, Attempt], None]


class AdaptiveSteps:
    """
    The Dormand-Prince method of order 8, with the steps and events of ``simulate``.

    The result for a trajectory does not depend on others: it uses sums and roots, no powers.
    """

    def __init__(
        self, kernel: Kernel, tolerance: tuple[float, float], max_step: float = math.inf
    ) -> None:
        """Set a relative and an absolute tolerance."""
        self._kernel, self._tolerance, self._max_step = kernel, tolerance, max_step

    def advance(
        self, batch: Batch, number: int, watcher: Watcher | None = None
    ) -> tuple[Index, Index]:
        """
        Advance the running trajectories of a mode to their goals, or to the first event of each.

        Parameters
        ----------
        batch, number
            Trajectories, and the index of the mode.
        watcher
            Called with each accepted step: the trajectories, their states before it, its lengths
            and its result. Trajectories whose length is 0 took no step.

        Returns
        -------
        tuple
            As of :meth:`FixedSteps.advance`.

        """
        events: list[tuple[Index, Index]] = []
        going = (batch.stop == 0) & (batch.mode == number) & (batch.t < batch.goal)
        index = np.flatnonzero(going)
        while index.size:
            index = self._crowd(batch, index, watcher, events)
        if not events:
            return index, index
        found, guards = (np.concatenate(part) for part in zip(*events, strict=True))
        return found, guards

    def _crowd(
        self,
        batch: Batch,
        index: Index,
        watcher: Watcher | None,
        events: list[tuple[Index, Index]],
    ) -> Index:
        """Step trajectories until some of them are done; return the others."""
        crowd = _Crowd(self._kernel, batch, index)
        self._start_steps(crowd.batch, crowd.rate, crowd.todo)
        enough = CROWDED * index.size
        while crowd.todo.any() and (crowd.todo.sum() >= enough or crowd.todo.all()):
            self._step(crowd, watcher, events, look=False)
        if crowd.held.any():  # all events of the group are located at once
            crowd.todo, others = crowd.held.copy(), crowd.todo
            self._step(crowd, watcher, events, look=True)
            crowd.todo |= others
        batch.put(index, crowd.batch, np.arange(index.size))
        return crowd.index[crowd.todo]

    def _step(
        self,
        crowd: _Crowd,
        watcher: Watcher | None,
        events: list[tuple[Index, Index]],
        *,
        look: bool,
    ) -> None:
        """Try a step; trajectories in which a guard may have fallen are held back or examined."""
        w, todo = crowd.batch, crowd.todo
        left = w.goal - w.t
        last = w.h >= left * (1 - 1e-9)
        taken = np.where(last, left, w.h)
        tried = self._kernel.dop853(w, crowd.rate, taken, todo, self._tolerance)
        kept = todo & (tried.error < 1)
        guard = np.full(w.size, NOT_FINITE)
        hit = kept & ~(tried.least > 0)
        if look:
            here = np.flatnonzero(hit)
            if here.size:
                guard[here] = self._events(w, crowd.rate, here, taken, tried)
        else:
            crowd.held |= hit
            kept, todo = kept & ~hit, todo & ~hit
        h = self._next(w.h, taken, tried.error, kept, last, w.rejected)
        w.h[...] = np.where(todo, h, w.h)
        lost = todo & ~kept & (taken <= 10 * np.spacing(w.t))
        w.rejected[...] = np.where(todo, ~kept, w.rejected)
        if watcher is not None and kept.any():
            watcher(crowd.index, w, np.where(kept, taken, 0.0), tried)
        w.t[...] = np.where(kept, np.where(last & (guard < 0), w.goal, w.t + taken), w.t)
        w.x[...] = np.where(kept, tried.x, w.x)
        if w.slope.size:
            w.u[...] = np.where(kept, w.u + w.slope * taken, w.u)
        crowd.rate = np.where(kept, tried.rate, crowd.rate)
        over = lost | (guard >= 0)
        ended = np.flatnonzero(over)
        if ended.size:
            events.append((crowd.index[ended], guard[ended]))
        crowd.todo = todo & ~over & (w.t < w.goal)

    def _next(
        self, h: Array, taken: Array, error: Array, kept: Array, last: Array, rejected: Array
    ) -> Array:
        """Return the length of the next step, by the rules of ``CompiledSolver``."""
        with np.errstate(all='ignore'):
            factor = SAFETY / np.sqrt(np.sqrt(np.sqrt(error)))
            again = taken * np.maximum(MIN_FACTOR, np.where(np.isfinite(error), factor, 0.0))
        grown = taken * np.minimum(factor, MAX_FACTOR)
        grown = np.where(last & (h > grown), h, grown)
        after = np.where(rejected, taken * np.minimum(factor, 1.0), grown)
        return np.minimum(np.where(kept, after, again), self._max_step)

    def _start_steps(self, w: Batch, rate: Array, todo: Array) -> None:
        """Choose initial step lengths where there are none yet, Hairer et al., Section II.4."""
        fresh = todo & (w.h == 0)
        if not fresh.any():
            return
        rtol, atol = self._tolerance
        span = w.goal - w.t
        with np.errstate(all='ignore'):
            scale = atol + rtol * np.abs(w.x)
            d0, d1 = _rms(w.x / scale), _rms(rate / scale)
            h0 = np.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / d1)
            h0 = np.where(np.isfinite(h0), np.minimum(h0, span), 0.0)
            h0 = np.maximum(h0, FIRST_STEP * span)
            ahead = w.copied(np.arange(w.size))
            ahead.x[...] += h0 * rate
            d2 = _rms((self._kernel.rates(ahead) - rate) / scale) / h0
            top = np.maximum(d1, d2)
            root = np.sqrt(np.sqrt(np.sqrt(0.01 / top)))
            h1 = np.where(top <= 1e-15, np.maximum(1e-6, h0 * 1e-3), root)
            h = np.minimum(np.minimum(100 * h0, h1), span)
            h = np.where(np.isfinite(d2), h, h0 * 1e-3)
        w.h[fresh] = np.minimum(h, self._max_step)[fresh]

    def _events(self, w: Batch, rate: Array, hit: Index, taken: Array, tried: Attempt) -> Index:
        """Cut steps short at their first event; return the indices of the guards, -1 for none."""
        k = np.resize(hit, -(-hit.size // self._kernel.width) * self._kernel.width)
        within = _Within(self._kernel, w.copied(k), np.ascontiguousarray(rate[:, k]))
        low, high = self._brackets(within, taken[k], tried.dense[:, :, k])
        found = np.isfinite(high)
        high = self._root(within, np.where(found, low, 0.0), np.where(found, high, taken[k]))
        length = np.where(found, high, taken[k])
        fallen, end = within.margins(length) < 0, within.step(length)
        n = hit.size
        cut = np.flatnonzero(found[:n])
        for name in ('x', 'rate', 'dense', 'least'):
            getattr(tried, name)[..., hit[cut]] = getattr(end, name)[..., cut]
        taken[hit[cut]] = length[cut]
        return np.where(found & fallen.any(axis=0), fallen.argmax(axis=0), NOT_FINITE)[:n]

    def _root(self, within: _Within, low: Array, high: Array) -> Array:
        """Return the time just after the lowest guard falls, by Illinois method and halving."""
        a, b = (within.margins(h).min(axis=0) for h in (low, high))
        side = np.zeros(low.size)
        high = np.where(a < 0, low, high)  # so from the start of the bracket
        for k in count():
            wide = high - low > 2 * np.spacing(within.batch.t + high)
            if not wide.any():
                break
            with np.errstate(all='ignore'):
                middle = (low * b - high * a) / (b - a)
            inner = (middle > low) & (middle < high) & (k % 3 < 2)
            middle = np.where(inner, middle, (low + high) / 2)
            g = within.margins(middle).min(axis=0)
            fallen = ~(g >= 0)
            up, down = wide & fallen, wide & ~fallen
            a = np.where(down, g, np.where(up & (side > 0), a / 2, a))
            b = np.where(up, g, np.where(down & (side < 0), b / 2, b))
            low, high = np.where(down, middle, low), np.where(up, middle, high)
            side = np.where(up, 1.0, np.where(down, -1.0, side))
        return high

    def _brackets(self, within: _Within, taken: Array, dense: Array) -> tuple[Array, Array]:
        """Return times before and after the first fall of a guard; infinite if none falls."""
        start = within.batch
        samples = [
            within.margins_at(
                interpolated(start.x, dense, np.full(taken.size, theta)), theta * taken
            )
            for theta in GUARDED
        ]
        slopes = sample_slopes(samples)
        low, high = np.zeros_like(taken), np.full_like(taken, np.inf)
        for j in range(SAMPLES):
            a, b = samples[j], samples[j + 1]
            open_ = np.isinf(high)
            before, after = GUARDED[j] * taken, GUARDED[j + 1] * taken
            falls = open_ & ~(b >= 0).all(axis=0)
            low, high = np.where(falls, before, low), np.where(falls, after, high)
            dips = (slopes[j] < 0) & (slopes[j + 1] > 0)
            with np.errstate(all='ignore'):
                meet = a + slopes[j] * (b - a - slopes[j + 1]) / (slopes[j] - slopes[j + 1])
            maybe = open_ & ~falls & (dips & (meet <= 0)).any(axis=0)
            if maybe.any():
                bottom = self._bottom(within, before, after)
                deep = maybe & (within.margins(bottom) < 0).any(axis=0)
                low, high = np.where(deep, before, low), np.where(deep, bottom, high)
        return low, high

    def _bottom(self, within: _Within, low: Array, high: Array) -> Array:
        """Return the time of the minimum over the lowest guard, by golden sections."""
        for _ in range(SECTIONS):
            a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            left = within.margins(a).min(axis=0) < within.margins(b).min(axis=0)
            low, high = np.where(left, low, a), np.where(left, b, high)
        return (low + high) / 2


class _Crowd:
    """Trajectories that are stepped together, in contiguous memory."""

    def __init__(self, kernel: Kernel, batch: Batch, index: Index) -> None:
        self.index = np.resize(index, -(-index.size // kernel.width) * kernel.width)
        self.batch = batch.copied(self.index)
        self.rate = kernel.rates(self.batch)
        self.todo = np.arange(self.index.size) < index.size
        self.held = np.zeros(self.index.size, bool)


class _Within:
    """States and guards within a step, by separate shorter steps."""

    def __init__(self, kernel: Kernel, batch: Batch, rate: Array) -> None:
        self.batch, self._kernel, self._rate = batch, kernel, rate
        self._all = np.ones(batch.size, bool)

    def step(self, h: Array) -> Attempt:
        return self._kernel.dop853(self.batch, self._rate, h, self._all, WIDE)

    def margins(self, h: Array) -> Array:
        """Return the guards minus their levels after times h."""
        return self.margins_at(self.step(h).x, h)

    def margins_at(self, x: Array, h: Array) -> Array:
        there = self.batch.copied(np.arange(self.batch.size))
        there.x[...], there.t[...] = x, there.t + h
        if there.slope.size:
            there.u[...] += there.slope * h
        guards = self._kernel.guards(there)
        margins: NDArray[np.float64] = guards - there.levels[: len(guards)]
        return margins


def interpolated(x: Array, dense: Array, theta: Array, column: Index | None = None) -> Array:
    """
    Return states at fractions of steps from their dense output, with a fixed order of sums.

    Parameters
    ----------
    x, dense
        States before the steps and terms of their dense output, one for each trajectory.
    theta
        Fractions, 0 to 1.
    column
        Trajectory to which each fraction belongs; None for one fraction of each trajectory.

    """
    column = np.arange(theta.size) if column is None else column
    out = np.take(x, column, axis=1)
    part = np.empty_like(out)
    for weight, terms in zip(interpolation_weights(theta).T.copy(), dense, strict=True):
        np.take(terms, column, axis=1, out=part, mode='clip')  # without `clip` it makes a copy
        part *= weight
        out += part
    return out


def _rms(rows: Array) -> Array:
    """Return the root of the mean square, rows added one after the other."""
    total = rows[0] * rows[0]
    for row in rows[1:]:
        total = total + row * row
    return np.asarray(np.sqrt(total / len(rows)))
