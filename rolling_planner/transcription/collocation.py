"""
Collocation rules: which combinations of states, rates and controls of the nodes vanish.

Trapezoidal as in Woodruff & Lynch, Appendix C, Eqs. (49), (50), and Hermite-Simpson with a node in
the middle of each segment. Controls are linear within a segment in both, so that what is planned
is what is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_planner.transcription.triplets import Triplets


@dataclass(frozen=True, eq=False)
class CollocationRule:
    """
    A rule: ``state_rows X + rate_rows F = 0`` and ``control_rows U = 0`` for the nodes' values.

    Attributes
    ----------
    node_times
        Times of the nodes [s].
    segment_nodes
        Indices of the nodes at the ends of the segments.
    state_rows, rate_rows, control_rows
        The combinations, one column for each node.
    weights
        Of the quadrature of the running cost.

    """

    node_times: Array
    segment_nodes: NDArray[np.int_]
    state_rows: Triplets
    rate_rows: Triplets
    control_rows: Triplets
    weights: Array


def trapezoidal(times: Array) -> CollocationRule:
    """Return the trapezoidal rule for segments that end at these times [s], shape (N + 1,)."""
    N, h = len(times) - 1, np.diff(times)
    k, shape = np.arange(N), (N, N + 1)
    weights = np.zeros(N + 1)
    weights[:-1] += h / 2
    weights[1:] += h / 2
    return CollocationRule(
        node_times=times,
        segment_nodes=np.arange(N + 1),
        state_rows=Triplets.of(shape, (k, k + 1, 1.0), (k, k, -1.0)),
        rate_rows=Triplets.of(shape, (k, k, -h / 2), (k, k + 1, -h / 2)),  # (49)
        control_rows=Triplets.of((0, N + 1)),
        weights=weights,
    )


def hermite_simpson(times: Array) -> CollocationRule:
    """
    Return the separated Hermite-Simpson rule for segments that end at times [s].

    Shape (N + 1,).
    """
    N, h = len(times) - 1, np.diff(times)
    k = np.arange(N)
    left, middle, right, M = 2 * k, 2 * k + 1, 2 * k + 2, 2 * N + 1
    simpson, hermite = 2 * k, 2 * k + 1
    node_times = np.empty(M)
    node_times[0::2], node_times[1::2] = times, times[:-1] + h / 2
    weights = np.zeros(M)
    for node, share in ((left, 1), (middle, 4), (right, 1)):
        np.add.at(weights, node, share * h / 6)
    return CollocationRule(
        node_times=node_times,
        segment_nodes=2 * np.arange(N + 1),
        state_rows=Triplets.of(
            (2 * N, M),
            (simpson, right, 1.0),
            (simpson, left, -1.0),
            (hermite, middle, 1.0),
            (hermite, left, -0.5),
            (hermite, right, -0.5),
        ),
        rate_rows=Triplets.of(
            (2 * N, M),
            (simpson, left, -h / 6),
            (simpson, middle, -4 * h / 6),
            (simpson, right, -h / 6),
            (hermite, left, -h / 8),
            (hermite, right, h / 8),
        ),
        control_rows=Triplets.of((N, M), (k, middle, 1.0), (k, left, -0.5), (k, right, -0.5)),
        weights=weights,
    )


RULES: dict[str, Callable[[Array], CollocationRule]] = {
    'hermite_simpson': hermite_simpson,
    'trapezoidal': trapezoidal,
}
METHODS = tuple(RULES)
