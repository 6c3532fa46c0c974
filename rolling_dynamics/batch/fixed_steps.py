"""Lanes carried to their goals by steps of fixed length, events located inside the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.batch.kernels import Kernel
from rolling_dynamics.batch.lanes import Array, Index, Lanes, NOT_FINITE

NONE = np.zeros(0, np.intp)
HALVINGS = 40  # of a step in which an event is sought: of 1 ms, to 1e-15 s


class FixedSteps:
    """Classical Runge-Kutta steps of order 4."""

    def __init__(self, kernel: Kernel, max_step: float) -> None:
        """Take steps of at most so long [s]; what is to go is divided evenly."""
        self._kernel, self._max_step = kernel, max_step

    def advance(self, lanes: Lanes, number: int, _watcher: object = None) -> tuple[Index, Index]:
        """
        Carry the lanes of a mode that go on to their goals, or to the first event of each.

        Parameters
        ----------
        lanes, number
            Lanes, and the number of the mode.

        Returns
        -------
        tuple
            The lanes that came to an event, and the number of its guard, ``NOT_FINITE`` where the
            state is not finite any more. They stand at the event, or at the last finite state.

        """
        if not self._kernel.carry(lanes, number, self._max_step):
            return NONE, NONE
        index = np.flatnonzero(lanes.h)
        return index, self._located(lanes, index, number)

    def _located(self, lanes: Lanes, index: Index, number: int) -> Index:
        """Put lanes at the event within their next step; return the numbers of the guards."""
        padded = np.resize(index, -(-index.size // self._kernel.width) * self._kernel.width)
        start = lanes.copied(padded)
        unwatched = replace(start, levels=np.full_like(start.levels, -np.inf))
        low, high = np.zeros(padded.size), start.h.copy()
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            late = self._looked_at(unwatched, start.levels, middle, number)[1].any(axis=0)
            low, high = np.where(late, low, middle), np.where(late, middle, high)
        end, below = self._looked_at(unwatched, start.levels, high, number)
        k = index.size
        lanes.x[:, index], lanes.t[index] = end.x[:, :k], end.t[:k]
        first = below.argmax(axis=0)[:k]
        return np.where(first == len(below) - 1, NOT_FINITE, first)

    def _looked_at(
        self, start: Lanes, levels: Array, h: Array, number: int
    ) -> tuple[Lanes, Array]:
        """Return lanes a step further; which guards fell, and last, which are not finite."""
        end = replace(
            start, x=start.x.copy(), t=start.t.copy(), goal=start.t + h, h=np.zeros_like(h)
        )
        self._kernel.carry(end, number, np.inf)
        lost = end.t != end.goal
        guards = self._kernel.guards(end)
        fallen = ~(guards >= levels[: len(guards)]) & ~lost
        return end, np.vstack([fallen, lost])
