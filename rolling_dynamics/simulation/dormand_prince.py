"""
Instants, dense output and guards of a step of the Dormand-Prince method of order 8.

The method is as in ``scipy.integrate.DOP853`` (Hairer, Norsett and Wanner, Solving Ordinary
Differential Equations I, Section II.5 and II.10). The construction of the step is in another
module, since a cached step does not need it.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array

POWER = 7  # terms of the dense output
SAMPLES = 8  # parts of a step, at whose borders the guards are evaluated
GUARDED = np.linspace(0, 1, SAMPLES + 1)
_ROOT = math.sqrt(6)
_IRRATIONAL = (2 * (6 - _ROOT) / 135, (6 - _ROOT) / 45, (6 - _ROOT) / 30, (6 + _ROOT) / 30)
STAGES = (*_IRRATIONAL, 1 / 3, 1 / 4, 4 / 13, 127 / 195, 3 / 5, 6 / 7, 1.0, 1.0)
EXTRA = (1 / 10, 1 / 5, 7 / 9)
# instants of a step at which the control is needed: stages, dense output, guards
INSTANTS = np.array([*STAGES, *EXTRA, *GUARDED])


def interpolation_weights(theta: Array) -> Array:
    """Return w, shape (N, 7), of x(t + theta h) = x + w F."""
    theta = np.asarray(theta, dtype=float)
    weights, value = np.empty((theta.size, POWER)), np.ones(theta.size)
    for k in range(POWER):
        value = value * (theta if k % 2 == 0 else 1 - theta)
        weights[:, k] = value
    return weights


class StepOutputs:
    """Positions of the parts of a step's output, for a state of n components."""

    def __init__(self, n: int, entries: int) -> None:
        """Lay out the parts in order."""
        sizes = {
            'state': 2 * n,  # x and its rate
            'error': 1,
            'least': 1,
            'correction': entries,
            'dense': POWER * n,
        }
        start = 0
        self.slices: dict[str, slice] = {}
        for name, size in sizes.items():
            self.slices[name] = slice(start, start + size)
            start += size


def sample_slopes(values: Sequence[ca.SX]) -> list[ca.SX]:
    """Return slopes, per sample, at evenly spaced samples."""
    last = len(values) - 1
    slopes = [(values[k + 1] - values[k - 1]) / 2 for k in range(1, last)]
    first = (-3 * values[0] + 4 * values[1] - values[2]) / 2
    final = (3 * values[last] - 4 * values[last - 1] + values[last - 2]) / 2
    return [first, *slopes, final]
