"""Attitudes over time as quaternions of numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


def without_jumps(q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit quaternions, shape (N, 4), each with the sign that is next to the one before."""
    turns = np.sum(q[1:] * q[:-1], axis=1)
    signs = np.concatenate([[1.0], np.cumprod(np.where(turns < 0, -1.0, 1.0))])
    return np.asarray(q * signs[:, None])


def quaternions(matrices: Iterable[NDArray[np.float64]]) -> NDArray[np.float64]:
    """
    Return unit quaternions w, x, y, z of rotation matrices, shape (N, 4), without jumps.

    The bits are those of ``transforms3d.quaternions.mat2quat`` (Bar-Itzhack, 2000), which takes
    one matrix at a time.
    """
    R = np.array([np.asarray(m, dtype=float) for m in matrices]).reshape(-1, 9)
    xx, yx, zx, xy, yy, zy, xz, yz, zz = R.T
    K = np.zeros((len(R), 4, 4))  # the lower half counts
    K[:, 0, 0] = xx - yy - zz
    K[:, 1, 0], K[:, 1, 1] = yx + xy, yy - xx - zz
    K[:, 2, 0], K[:, 2, 1], K[:, 2, 2] = zx + xz, zy + yz, zz - xx - yy
    K[:, 3, 0], K[:, 3, 1], K[:, 3, 2], K[:, 3, 3] = yz - zy, zx - xz, xy - yx, xx + yy + zz
    _, vectors = np.linalg.eigh(K / 3.0)
    q = vectors[:, [3, 0, 1, 2], -1]
    return without_jumps(np.where(q[:, :1] < 0, -q, q))
