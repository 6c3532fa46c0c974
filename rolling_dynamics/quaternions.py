"""Unit quaternions of floats, without CasADi."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray


def matrix_to_wxyz(R: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """
    Return the unit quaternion w, x, y, z of a rotation matrix.

    Parameters
    ----------
    R
        Rotation matrix, shape (3, 3) or larger; the upper left block is used.

    Returns
    -------
    tuple of float
        Of norm 1, the largest component positive (Shepperd's choice of the largest pivot).

    """
    (a, b, c), (d, e, f), (g, h, i) = (row[:3] for row in R[:3].tolist())
    trace = a + e + i
    if trace >= max(a, e, i):
        s = math.sqrt(1.0 + trace) * 2.0
        return s / 4.0, (h - f) / s, (c - g) / s, (d - b) / s
    if a >= max(e, i):
        s = math.sqrt(1.0 + a - e - i) * 2.0
        return (h - f) / s, s / 4.0, (b + d) / s, (c + g) / s
    if e >= i:
        s = math.sqrt(1.0 + e - a - i) * 2.0
        return (c - g) / s, (b + d) / s, s / 4.0, (f + h) / s
    s = math.sqrt(1.0 + i - a - e) * 2.0
    return (d - b) / s, (c + g) / s, (f + h) / s, s / 4.0


def rotation_vector(q: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation vector [rad] of a unit quaternion (w, x, y, z), of norm at most pi."""
    w, x, y, z = np.asarray(q, dtype=float).tolist()
    n = math.sqrt(x * x + y * y + z * z)
    fraction = 2.0 * math.atan2(n, abs(w)) / n if n > 1e-9 else 2.0
    return math.copysign(fraction, w) * np.array((x, y, z))
