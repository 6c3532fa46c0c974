"""Lanes carried to their goals by steps of fixed length, events located inside the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.batch.kernels import Kernel
from rolling_dynamics.batch.lanes import Array, Index, Lanes, NOT_FINITE

HALVINGS = 40  # of a step in which an event is sought: of 1 ms, to 1e-15 s


class FixedSteps:
    """Classical Runge-Kutta steps of order 4."""

    def __init__(self, kernel: Kernel, max_step: float) -> None:
        """Take steps of at most so long [s]; what is to go is divided evenly."""
        self._kernel, self._max_step = kernel, max_step

    def advance(self, lanes: Lanes, index: Index, _watcher: object = None) -> tuple[Index, Index]:
        """
        Carry some lanes to their goals, or to the first event of each.

        Parameters
        ----------
        lanes, index
            Lanes, and which of them.

        Returns
        -------
        tuple
            The lanes that came to an event, and the number of its guard, ``NOT_FINITE`` where the
            state is not finite any more. They stand at the event, or at the last finite state.

        """
        todo = np.zeros(lanes.size, bool)
        todo[index] = True
        left = np.where(todo, lanes.goal - lanes.t, 0.0)
        steps = np.ceil(left / self._max_step * (1 - 1e-12)).astype(np.int64)
        h = left / np.maximum(steps, 1)
        taken = self._kernel.rk4(lanes, h, steps)
        done = taken == steps
        lanes.t[...] = np.where(todo & done, lanes.goal, lanes.t + taken * h)
        index = np.flatnonzero(~done)
        return (index, self._located(lanes, index, h[index])) if index.size else (index, index)

    def _located(self, lanes: Lanes, index: Index, h: Array) -> Index:
        """Put lanes at the event within their next step; return the numbers of the guards."""
        padded = np.resize(index, -(-index.size // self._kernel.width) * self._kernel.width)
        start = lanes.copied(padded)
        unwatched = replace(start, levels=np.full_like(start.levels, -np.inf))
        low, high = np.zeros(padded.size), np.resize(h, padded.size)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            late = self._looked_at(unwatched, start.levels, middle)[1].any(axis=0)
            low, high = np.where(late, low, middle), np.where(late, middle, high)
        end, below = self._looked_at(unwatched, start.levels, high)
        k = index.size
        lanes.x[:, index], lanes.t[index] = end.x[:, :k], end.t[:k]
        first = below.argmax(axis=0)[:k]
        return np.where(first == len(below) - 1, NOT_FINITE, first)

    def _looked_at(self, start: Lanes, levels: Array, h: Array) -> tuple[Lanes, Array]:
        """Return lanes a step further; which guards fell, and last, which are not finite."""
        end = replace(start, x=start.x.copy())
        lost = self._kernel.rk4(end, h, np.ones(start.size, np.int64)) == 0
        end = replace(end, t=start.t + np.where(lost, 0.0, h))
        guards = self._kernel.guards(end)
        fallen = ~(guards >= levels[: len(guards)]) & ~lost
        return end, np.vstack([fallen, lost])
