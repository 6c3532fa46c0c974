"""Covariances of what a least-squares fit gives, robust to residuals that depend on each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A parameter: value, unit, half width of its 95 % interval, and why there is none."""

    value: float
    unit: str
    half_width: float | None
    text: str = ''

    def line(self, name: str) -> str:
        """Return what is printed of it."""
        half = '' if self.half_width is None else f'+- {self.half_width:<9.2g}'
        return f'{name:20} {self.value:12.6g} {half:12} {self.unit:14} {self.text}'.rstrip()


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
    for k in range(int(group.max()) + 1):
        mine, off = J[group == k], r[group == k]
        moved = np.linalg.pinv(information - mine.T @ mine) @ (mine.T @ off)
        out += np.outer(moved, moved)
    return np.asarray(out)
