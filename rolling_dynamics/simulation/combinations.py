"""Linear combinations of vectors, written out number by number: half the time of a product."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray


def combination(weights: NDArray[np.float64], vectors: Sequence[ca.SX]) -> ca.SX:
    """Return the sum of the vectors, each times its weight; a weight of zero costs nothing."""
    total = ca.SX.zeros(vectors[0].numel())
    for weight, vector in zip(weights.tolist(), vectors, strict=True):
        if weight:
            total += weight * vector
    return total


def moved(weights: NDArray[np.float64], x: ca.MX, h: ca.MX, rates: Sequence[ca.MX]) -> ca.MX:
    """Return x + h K weights; K has the rates as its columns."""
    used = np.flatnonzero(weights).tolist()
    start, length = ca.SX.sym('x', x.numel()), ca.SX.sym('h')
    K = [ca.SX.sym(f'K_{k}', x.numel()) for k in used]
    end = start + length * combination(weights[used], K)
    function = ca.Function(f'moved_{len(rates)}', [start, length, *K], [end])
    return function(x, h, *(rates[k] for k in used))
