"""A stretch of time in which a control is a straight line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Piece:
    """
    A stretch of time in which the control is a straight line in time.

    Attributes
    ----------
    start, end
        Times [s].
    value
        Control at ``start``.
    slope
        Its rate.

    """

    start: float
    end: float
    value: NDArray[np.float64]
    slope: NDArray[np.float64]
