"""What comes of a step that is tried."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.simulation.dormand_prince import POWER

Array = NDArray[np.float64]


class Attempt(NamedTuple):
    """
    A step of order 8 of many lanes.

    Attributes
    ----------
    x, rate
        State at its end, on the constraints, and its rate.
    error
        Error against the tolerance, below 1 for a step to keep.
    least
        Bound from below of the guards less their levels over the step.
    dense
        Terms of the dense output, shape (7, state.size, lanes).

    """

    x: Array
    rate: Array
    error: Array
    least: Array
    dense: Array

    @classmethod
    def empty(cls, n: int, lanes: int) -> Attempt:
        """Return room for the steps of so many lanes."""
        return cls(
            x=np.empty((n, lanes)),
            rate=np.empty((n, lanes)),
            error=np.full(lanes, np.nan),
            least=np.full(lanes, np.nan),
            dense=np.empty((POWER, n, lanes)),
        )
