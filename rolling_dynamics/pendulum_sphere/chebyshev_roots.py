"""All real roots of a smooth function in an interval, by its Chebyshev interpolants."""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np
from numpy.polynomial import chebyshev
from rolling_dynamics.arrays import Array

DEGREE = 24
SMALL = 1e-12  # share of the greatest coefficient that the last ones may have
PIECE = math.pi / 2
DEEPEST = 12  # times that a piece is halved at most
_NODES = chebyshev.chebpts1(DEGREE + 1)
_ANALYSIS = np.linalg.inv(chebyshev.chebvander(_NODES, DEGREE))


def all_roots(function: Callable[[Array], Array], low: float, high: float) -> list[float]:
    """
    Return every root of a smooth function between two numbers, double roots once, increasing.

    Parameters
    ----------
    function
        Vectorised, shape (k,) -> (k,).
    low, high
        The interval.

    Returns
    -------
    list of float
        The pieces are halved until the interpolant holds the function to rounding, so that its
        roots are those of the function.

    """
    cuts = np.linspace(low, high, max(1, math.ceil((high - low) / PIECE)) + 1)
    pieces = np.column_stack([cuts[:-1], cuts[1:]])
    roots: list[float] = []
    for depth in range(DEEPEST + 1):
        middle, half = pieces.mean(axis=1), np.diff(pieces, axis=1)[:, 0] / 2
        samples = function((middle[:, None] + np.outer(half, _NODES)).ravel())
        series = samples.reshape(len(pieces), -1) @ _ANALYSIS.T
        size, tail = np.abs(series).max(axis=1), np.abs(series[:, -3:]).max(axis=1)
        free = np.abs(series[:, 0]) > np.abs(series[:, 1:]).sum(axis=1)
        rough = (tail > SMALL * size) & ~(free & (tail < 1e-3 * size)) & (depth < DEEPEST)
        for k in np.flatnonzero(~free & ~rough):
            roots += [float(middle[k] + half[k] * z) for z in _roots(series[k])]
        if not rough.any():
            break
        a, m, b = pieces[rough, 0], middle[rough], pieces[rough, 1]
        pieces = np.concatenate([np.column_stack([a, m]), np.column_stack([m, b])])
    kept: list[float] = []
    for r in sorted(roots):
        if not kept or r - kept[-1] > 1e-7 * (high - low):
            kept.append(r)
    return kept


def _roots(c: Array) -> Array:
    """Return the real roots of a Chebyshev series in [-1, 1]."""
    size = np.abs(c).max()
    last = int(np.flatnonzero(np.abs(c) > 1e-16 * size).max(initial=0))
    z = chebyshev.chebroots(c[: last + 1])
    x = np.real(z[(np.abs(np.imag(z)) < 1e-7) & (np.abs(np.real(z)) < 1 + 1e-10)])
    slope = chebyshev.chebder(c)
    for _ in range(3):  # Newton; a double root has no slope and stays
        d = chebyshev.chebval(x, slope)
        steep = np.abs(d) > 1e-9 * size
        step = np.where(steep, chebyshev.chebval(x, c) / np.where(steep, d, 1), 0)
        x = x - np.clip(step, -1e-4, 1e-4)
    return np.array(x[np.abs(x) <= 1 + 1e-10])
