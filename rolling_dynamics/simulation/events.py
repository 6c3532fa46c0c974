"""Events: guards that fall through zero, located in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.errors import SimulationError
from rolling_dynamics.simulation.dormand_prince import sample_slopes, SAMPLES

if TYPE_CHECKING:
    from rolling_dynamics.simulation.recorder import Solver

NOISE = 1e-12  # a guard that is zero to rounding has not fallen


class GuardWatch:
    """
    Finds where guards fall through their levels.

    Between two steps, a guard is looked at in several places; where its slopes say that it may
    dip in between, the dip is sought too.
    """

    def __init__(self, guards: FastFunction | None, p: Array, levels: Array) -> None:
        """
        Watch guards.

        Parameters
        ----------
        guards
            ``(x, u, t, p) -> values``; None for none.
        p
            Parameters.
        levels
            What they fall through, shape (number of guards,); may be changed in place.

        """
        self._guards, self._p, self.levels = guards, p, levels
        self.inside = [True] * levels.size

    @property
    def at_ease(self) -> bool:
        """Whether nothing has to be looked for in a step that is clear."""
        return self._guards is None or False not in self.inside

    def values(self, t: float, x: Array, u: Array) -> Array:
        """Return the guards less their levels, shape (guards,), in their units."""
        if self._guards is None:
            return np.zeros(0)
        return self._guards(x, u, t, self._p) - self.levels

    def begin(self, t: float, x: Array, u: Array) -> NDArray[np.intp]:
        """Look at the guards at a start; return those that are below their levels there."""
        below = self.values(t, x, u) < -NOISE
        self.inside = (~below).tolist()
        return np.flatnonzero(below)

    def search(self, solver: Solver) -> list[tuple[float, int]]:
        """Return time and index of every fall in the last step, in order of time."""
        if self._guards is None or (solver.clear and self.at_ease):
            return []
        times, states = solver.samples()
        table = np.array(
            [self.values(t, x, solver.control(t, x)) for t, x in zip(times, states, strict=True)]
        )
        hits = []
        for k in range(table.shape[1]):
            hits += [(t, k) for t in self._falls(solver, k, times, table[:, k])]
        return sorted(hits)

    def _falls(self, solver: Solver, k: int, times: Array, values: Array) -> list[float]:
        found = []
        slopes = [float(s) for s in sample_slopes(values.tolist())]
        for j in range(SAMPLES):
            a, b = values[j], values[j + 1]
            if not self.inside[k]:
                self.inside[k] = bool(b > NOISE)
            elif b < -NOISE:
                found.append(self._root(solver, k, times[j], times[j + 1]))
                self.inside[k] = False
            elif _may_dip(a, b, slopes[j], slopes[j + 1]):
                bottom = self._bottom(solver, k, times[j], times[j + 1])
                if self._value(solver, k, bottom) < -NOISE:
                    found.append(self._root(solver, k, times[j], bottom))
        return found

    def _value(self, solver: Solver, k: int, t: float) -> float:
        x = solver.state_within(t)
        return float(self.values(t, x, solver.control(t, x))[k])

    def _root(self, solver: Solver, k: int, low: float, high: float) -> float:
        if self._value(solver, k, low) <= 0:
            return float(low)
        if not self._value(solver, k, high) < 0:
            return float(high)
        from scipy.optimize import brentq  # noqa: PLC0415  (large, and most runs find no event)

        finest = 2 * float(np.spacing(max(abs(low), abs(high))))
        try:
            return float(
                brentq(lambda t: self._value(solver, k, t), low, high, xtol=finest, rtol=8.9e-16)
            )
        except ValueError:  # not a number on the way
            raise SimulationError(
                f'between t = {low:.9g} and {high:.9g} s a margin has no value; the motion is '
                'singular there'
            ) from None

    def _bottom(self, solver: Solver, k: int, low: float, high: float) -> float:
        from scipy.optimize import minimize_scalar  # noqa: PLC0415

        found = minimize_scalar(
            lambda t: self._value(solver, k, t),
            bounds=(low, high),
            method='bounded',
            options={'xatol': 1e-6 * (high - low)},
        )
        return float(found.x)


def _may_dip(a: float, b: float, slope_a: float, slope_b: float) -> bool:
    """Return whether the tangents at both ends of a part meet below zero."""
    if not (slope_a < 0 < slope_b):
        return False
    return bool(a + slope_a * (b - a - slope_b) / (slope_a - slope_b) <= 0)
