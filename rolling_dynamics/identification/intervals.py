"""Covariances of what a least-squares fit gives, robust to residuals that depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array


def jackknife(J: Array, r: Array, group: NDArray[np.intp], prior: Array) -> Array:
    """
    Return the covariance of parameters that a fit gave.

    How far they move when a group of residuals is left out, in one step, summed over groups
    (jackknife, HC3 of MacKinnon and White 1985): what a model lacks errs in one direction for a
    whole group.

    Parameters
    ----------
    J, r
        Derivatives (k, n) and residuals (k,), scaled so that their noise has unit variance.
    group
        Group of each residual, from 0 on, shape (k,).
    prior
        Derivatives of what is known of the parameters beforehand, scaled likewise, shape (j, n).

    """
    information = J.T @ J + prior.T @ prior
    inverse = np.linalg.pinv(information)
    out = inverse @ (prior.T @ prior) @ inverse
    for k in range(int(group[-1]) + 1):
        mine, off = J[group == k], r[group == k]
        moved = np.linalg.pinv(information - mine.T @ mine) @ (mine.T @ off)
        out += np.outer(moved, moved)
    return np.asarray(out)
