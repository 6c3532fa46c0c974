"""
One quadratic program about a motion: changes of controls that come back to the reference.

The states are taken out (condensed), so that the unknowns are the changes of the active controls
at the nodes. Limits of controls are hard. Those of contact and states are soft: each node has a
slack with an exact penalty, so that there is always a solution.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_controller.predictive.stage import Stages
from rolling_dynamics.errors import ParameterError

Array = NDArray[np.float64]
UNBOUNDED = 1e30
PENALTY = 10.0  # of the slack, over the greatest multiplier that the gradient lets expect
CURVATURE = 1e-3  # of the slack's cost, over its slope, per unit of excess


class Rows(NamedTuple):
    """Rows C d + D e >= least of each node, shapes (k, c, n), (k, c, m) and (k, c)."""

    C: Array
    D: Array
    least: Array


class Costs(NamedTuple):
    """
    What deviations cost.

    Attributes
    ----------
    durations
        How long each node counts [s], shape (k,).
    state_roots
        Roots of Q per second, shape (k, n, n).
    control
        Diagonal of R per second, shape (m,).
    end_root
        L of the cost to go |L d|^2 from the last node, shape (n, n).
    offset
        Controls at the nodes less those of the reference, shape (k, m).

    """

    durations: Array
    state_roots: Array
    control: Array
    end_root: Array
    offset: Array


class Solution(NamedTuple):
    """
    What the program gave.

    Attributes
    ----------
    states, controls
        Changes d and e at the nodes, shapes (k, n) and (k, m).
    slack
        Greatest excess over a row that was allowed.
    iterations
        Of the solver.

    """

    states: Array
    controls: Array
    slack: float
    iterations: int


@cache
def solver() -> Callable[..., Any]:
    """Return the solver; raise ParameterError where it is not installed."""
    try:
        from daqp import solve as found  # noqa: PLC0415  optional
    except ImportError:
        raise ParameterError(
            'predictive control needs daqp; install it with `pip install daqp`'
        ) from None
    return found  # type: ignore[no-any-return]


class UnsolvedError(Exception):
    """The solver gave no usable solution."""


def solve(stages: Stages, costs: Costs, low: Array, high: Array, rows: Rows) -> Solution:
    """
    Return the changes of least cost.

    Parameters
    ----------
    stages
        One for each node; the last one leads nowhere.
    costs
        What deviations cost.
    low, high
        Bounds of e, shape (k, m) each.
    rows
        Soft limits.

    Raises
    ------
    UnsolvedError
        The solver failed; the text says how.

    """
    G, b = _condensed(stages)
    H, f = _quadratic(stages, costs, G, b)
    k, m = low.shape
    size = k * m
    A = (rows.C @ G).reshape(-1, size)
    node = np.repeat(np.arange(k), rows.least.shape[1])
    for j in range(m):
        A[np.arange(len(A)), node * m + j] += rows.D[:, :, j].ravel()
    least = (rows.least - (rows.C @ b[:, :, None])[:, :, 0]).ravel()
    e, iterations = _minimum(H, f, A, least, low.ravel(), high.ravel(), k)
    e = np.clip(e, low.ravel(), high.ravel())  # the solver rounds
    slack = float(np.max(least - A @ e, initial=0.0))
    return Solution(G @ e + b, e.reshape(k, m), slack, iterations)


def _condensed(stages: Stages) -> tuple[Array, Array]:
    """Return G, b of d = G e + b, shapes (k, n, k m) and (k, n); the first state is given."""
    k, n, m = stages.B.shape
    G, b = np.zeros((k, n, k * m)), np.zeros((k, n))
    for i in range(k - 1):
        here, end = i * m, (i + 1) * m
        G[i + 1, :, :end] = stages.A[i] @ G[i, :, :end]
        G[i + 1, :, here:end] += stages.B[i]
        G[i + 1, :, end : end + m] = stages.B_next[i]
        b[i + 1] = stages.A[i] @ b[i] + stages.defect[i]
    return G, b


def _quadratic(stages: Stages, costs: Costs, G: Array, b: Array) -> tuple[Array, Array]:
    """Return H, f of the cost e H e / 2 + f e."""
    k, n, size = G.shape
    roots = np.sqrt(costs.durations)[:, None, None] * costs.state_roots
    error = stages.error + (stages.turn @ b[:, :, None])[:, :, 0]
    M = (roots @ stages.turn @ G).reshape(k * n, size)
    r = (roots @ error[:, :, None]).ravel()
    M_end, r_end = costs.end_root @ (stages.turn[-1] @ G[-1]), costs.end_root @ error[-1]
    effort = (costs.durations[:, None] * costs.control).ravel()
    H = M.T @ M + M_end.T @ M_end
    H[np.diag_indices(size)] += effort
    return H, M.T @ r + M_end.T @ r_end + effort * costs.offset.ravel()


def _minimum(
    H: Array, f: Array, A: Array, least: Array, low: Array, high: Array, nodes: int
) -> tuple[Array, int]:
    """Return e and the iterations, with a slack for each node where there are rows."""
    size = len(f)
    soft = nodes if len(A) else 0
    slope = PENALTY * (1.0 + np.abs(f).max() / max(float(np.abs(A).max(initial=0.0)), 1e-12))
    whole = np.zeros((size + soft, size + soft))
    whole[:size, :size] = H
    whole[range(size, size + soft), range(size, size + soft)] = CURVATURE * slope
    rows = np.hstack([A, np.repeat(np.eye(soft), len(A) // max(soft, 1), axis=0)])
    e, _, flag, info = solver()(
        whole,
        np.append(f, np.full(soft, slope)),
        rows,
        np.concatenate([high, np.full(soft + len(A), UNBOUNDED)]),
        np.concatenate([low, np.zeros(soft), least]),
    )
    if flag < 1 or not np.isfinite(e).all():
        raise UnsolvedError(f'the solver gave up with flag {flag}')
    return np.asarray(e[:size]), int(info['iterations'])
