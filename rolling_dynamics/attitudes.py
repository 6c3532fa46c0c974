"""Attitudes over time as quaternions of numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from transforms3d.quaternions import mat2quat


def without_jumps(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit quaternions, shape (N, 4), each with the sign that is next to the one before."""
    turns = np.sum(q[1:] * q[:-1], axis=1)
    signs = np.concatenate([[1.0], np.cumprod(np.where(turns < 0, -1.0, 1.0))])
    return np.asarray(q * signs[:, None])


def quaternions(matrices: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return unit quaternions w, x, y, z of rotation matrices, shape (N, 4), without jumps."""
    return without_jumps(np.array([mat2quat(R) for R in matrices]))
