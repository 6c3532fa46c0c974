"""Trajectories carried to their goals by steps of fixed length, events located inside the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rolling_dynamics.batch.kernels import Kernel
from rolling_dynamics.batch.lanes import Array, Index, Lanes, NO_EVENT, NOT_FINITE
from rolling_dynamics.simulation.stepper import SHORTEST

NONE = np.zeros(0, np.intp)


class FixedSteps:
    """Classical Runge-Kutta steps of order 4."""

    def __init__(self, kernel: Kernel, max_step: float, slip_row: int | None) -> None:
        """
        Take steps of at most so long [s]; what is to go is divided evenly.

        The row is the one of ``Lanes.levels`` that holds how much slip may turn in a step.
        """
        self._kernel, self._max_step, self._slip_row = kernel, max_step, slip_row

    def advance(self, lanes: Lanes, number: int, _watcher: object = None) -> tuple[Index, Index]:
        """
        Carry the trajectories of a mode that go on to their goals, or to the first event of each.

        Parameters
        ----------
        lanes, number
            Trajectories, and the number of the mode.

        Returns
        -------
        tuple
            The trajectories that came to an event, and the number of its guard, ``NOT_FINITE``
            where the state is not finite any more. They stand at the event, or at the last finite
            state.

        """
        while self._kernel.carry(lanes, number, self._max_step):
            index = np.flatnonzero(lanes.h)
            guard = self._located(lanes, index, number)
            fallen = guard != NO_EVENT
            if fallen.any():
                return index[fallen], guard[fallen]
        return NONE, NONE

    def _located(self, lanes: Lanes, index: Index, number: int) -> Index:
        """Put trajectories at the event within their next step, or its end; return the guards."""
        padded = np.resize(index, -(-index.size // self._kernel.width) * self._kernel.width)
        start = lanes.copied(padded)
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
        lanes.x[:, index], lanes.t[index] = end.x[:, :k], end.t[:k]
        first = np.where(hit, below.argmax(axis=0), NO_EVENT)[:k]
        return np.where(first == len(below) - 1, NOT_FINITE, first)

    def _steady(self, start: Lanes, levels: Array, number: int) -> Array:
        """Return steps in which slip keeps its direction, as those of ``Stepper``."""
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

    def _carried(self, start: Lanes, h: Array, number: int) -> Lanes:
        """Return trajectories one step of h further, those that can be."""
        end = replace(
            start, x=start.x.copy(), t=start.t.copy(), goal=start.t + h, h=np.zeros_like(h)
        )
        self._kernel.carry(end, number, np.inf)
        return end

    def _looked_at(
        self, start: Lanes, levels: Array, h: Array, number: int
    ) -> tuple[Lanes, Array]:
        """Return trajectories a step further; which guards fell; which are not finite."""
        end = self._carried(start, h, number)
        lost = end.t != end.goal
        guards = self._kernel.guards(end)
        fallen = ~(guards >= levels[: len(guards)]) & ~lost
        return end, np.vstack([fallen, lost])
