"""
The paper's axes and the suite's: z down inside the paper, z up everywhere else.

Both frames share x; the paper's y and z are the suite's reversed. That is a half turn about x, so
positions, forces, angular velocities and torques change alike. This is the only place where it is
done.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_HALF_TURN = np.array([1.0, -1.0, -1.0])


def from_paper(v: ArrayLike) -> NDArray[np.float64]:
    """Return vectors, shape (..., 3), given in the paper's axes, in axes with z up; same unit."""
    return np.array(np.asarray(v, dtype=float) * _HALF_TURN)


def to_paper(v: ArrayLike) -> NDArray[np.float64]:
    """Return vectors, shape (..., 3), given in axes with z up, in the paper's; same unit."""
    return np.array(np.asarray(v, dtype=float) * _HALF_TURN)
