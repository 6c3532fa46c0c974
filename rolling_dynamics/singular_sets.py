"""Where a function of named angles vanishes or grows without bound, found numerically."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

GRID = 361  # points of a turn at which zeros are looked for
SMALL = 1e-7  # of the median of |value| over the scan


@dataclass(frozen=True)
class SingularSet:
    """``form = value``, on which a function is ``zero`` or ``infinite`` whatever else changes."""

    form: str
    value: float
    kind: str

    def __str__(self) -> str:
        """Return it in words, the value in parts of pi."""
        share = round(self.value / math.pi, 6) + 0.0  # no minus zero
        return f'{self.form} = {share:.4g} pi ({self.kind})'


def singular_sets(
    function: Callable[[NDArray[np.float64]], float],
    names: Sequence[str],
    *,
    trials: int = 4,
    seed: int = 0,
) -> list[SingularSet]:
    """
    Return the sets a_i = c, a_i + a_j = c, a_i - a_j = c on which a function is singular.

    Parameters
    ----------
    function
        Of the angles, shape (n,), [rad].
    names
        Names of the angles.
    trials
        Random values of the other angles for which the set must be the same.
    seed
        Of these values.

    Returns
    -------
    list of SingularSet
        With values in (-pi, pi]; a sum is named only where neither of its angles alone is.

    """
    rng = np.random.default_rng(seed)
    starts = rng.uniform(-1.1, 1.1, (trials, len(names)))
    found: list[SingularSet] = []
    scans = {
        (i, t): _scan(function, starts[t], i) for i in range(len(names)) for t in range(trials)
    }
    for kind in ('zero', 'infinite'):
        alone: dict[int, list[float]] = {}
        for i, name in enumerate(names):
            alone[i] = _common([scans[i, t][kind] for t in range(trials)])
            found += [SingularSet(name, c, kind) for c in alone[i]]
        for i, j in combinations(range(len(names)), 2):
            for sign, mark in ((1, '+'), (-1, '-')):
                shifted = [
                    [
                        _turn(z + sign * starts[t][j])
                        for z in scans[i, t][kind]
                        if not _near(z, alone[i])
                    ]
                    for t in range(trials)
                ]
                found += [
                    SingularSet(f'{names[i]} {mark} {names[j]}', c, kind) for c in _common(shifted)
                ]
    return found


def _turn(z: float) -> float:
    """Return an angle in (-pi, pi]."""
    out = math.remainder(z, 2 * math.pi)
    return math.pi if abs(out + math.pi) < 1e-6 else out


def _near(z: float, values: Sequence[float]) -> bool:
    return any(abs(math.remainder(z - v, 2 * math.pi)) < 1e-4 for v in values)


def _common(lists: Sequence[Sequence[float]]) -> list[float]:
    """Return what stands in every list."""
    return [z for z in lists[0] if all(_near(z, other) for other in lists[1:])]


def _scan(
    function: Callable[[NDArray[np.float64]], float], start: NDArray[np.float64], i: int
) -> dict[str, list[float]]:
    """Return the zeros and poles along one angle, the others as at the start."""

    def magnitude(z: float, power: int = 1) -> float:
        x = start.copy()
        x[i] = z
        value = abs(function(x))
        return value if power == 1 else 1 / max(value, 1e-300)

    grid = np.linspace(-math.pi, math.pi, GRID)[1:] + 1.234e-4
    values = np.array([magnitude(z) for z in grid])
    step, median = grid[1] - grid[0], float(np.median(values))
    out: dict[str, list[float]] = {}
    inverse = 1 / np.maximum(values, 1e-300)
    for kind, power, data in (('zero', 1, values), ('infinite', -1, inverse)):
        scale = median if power == 1 else 1 / max(median, 1e-300)
        out[kind] = []
        low = np.flatnonzero((data <= np.roll(data, 1)) & (data <= np.roll(data, -1)))
        for k in low:
            best = minimize_scalar(
                magnitude,
                bounds=(grid[k] - step, grid[k] + step),
                args=(power,),
                method='bounded',
                options={'xatol': 1e-10},
            )
            if best.fun < SMALL * scale and not _near(best.x, out[kind]):
                out[kind].append(_turn(float(best.x)))
    return out
