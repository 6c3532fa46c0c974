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
from numpy.lib.stride_tricks import as_strided
from rolling_controller.predictive.stage import Stages
from rolling_dynamics.arrays import Array
from rolling_dynamics.extras import need

UNBOUNDED = 1e30
SOLVED = 1  # the solver's flag
PENALTY = 10.0  # of the slack, over the maximum multiplier expected from the gradient
CURVATURE = 1e-3  # of the slack's cost, over its slope, per unit of excess


class Costs(NamedTuple):
    """
    Costs of controls; costs of states are in the stages.

    Attributes
    ----------
    control
        Diagonal of R times how long each node counts, shape (k, m).
    offset
        Controls at the nodes less the reference, shape (k, m).

    """

    control: Array
    offset: Array


class Solution(NamedTuple):
    """
    Solution of the program.

    Attributes
    ----------
    states, controls
        Changes d and e at the nodes, shapes (k, n) and (k, m).
    room
        Margins of the limits, shape (k, c); negative where slack was used.
    iterations
        Number of iterations of the solver.

    """

    states: Array
    controls: Array
    room: Array
    iterations: int


@cache
def solver() -> Callable[..., Any]:
    """Return the solver; raise ParameterError where it is not installed."""
    need('predictive control', 'daqp')
    from daqp import solve  # noqa: PLC0415  optional

    return solve  # type: ignore[no-any-return]


class UnsolvedError(Exception):
    """The solver gave no usable solution."""


class Program:
    """The program about stages that are written in place. Not for two threads at once."""

    def __init__(self, stages: Stages) -> None:
        """Allocate the program of these stages, one for each node; the last has no successor."""
        self._stages = stages
        k, c, m = stages.D.shape
        n = stages.A.shape[1]
        columns = 1 + k * m  # the first one is what there is without changes of controls
        self._G = np.zeros((k, n, columns))  # d = G (1, e)
        self._M = np.empty((k, n, columns))  # the cost is |M (1, e)|^2
        self._rows = np.empty((k, c, columns))  # rows (1, e) >= least
        self._driven = _diagonal(self._G[1:, :, 1:], 2 * m, m)
        self._direct = _diagonal(self._rows[:, :, 1:], m, m)
        room = np.empty(n * columns)
        self._steps = []
        for i in range(1, k - 1):
            width = 1 + (i + 1) * m  # what follows is zero so far
            product = room[: n * width].reshape(n, width)
            here, after = self._G[i : i + 2, :, :width]
            self._steps.append((stages.A[i], here, product, after))

    def solve(self, costs: Costs, low: Array, high: Array, least: Array) -> Solution:
        """
        Return the changes of least cost.

        Parameters
        ----------
        costs
            Cost of the controls.
        low, high
            Bounds of e, shape (k, m) each.
        least
            Lower bound of the limits at each node, a soft constraint, shape (k, c).

        Raises
        ------
        UnsolvedError
            The solver failed; the text has the status.

        """
        stages, effort = self._stages, costs.control.ravel()
        self._condense()
        np.matmul(stages.turn, self._G, out=self._M)
        self._M[:, :, 0] += stages.error
        M = self._M.reshape(-1, self._M.shape[2])
        gram = M.T @ M
        H, f = gram[1:, 1:].copy(), gram[0, 1:] + effort * costs.offset.ravel()
        H.flat[:: len(H) + 1] += effort
        np.matmul(stages.C, self._G, out=self._rows)
        self._direct += stages.D
        rows = self._rows.reshape(-1, self._rows.shape[2])
        A, least = rows[:, 1:].copy(), (least - stages.margins).ravel() - rows[:, 0]
        low_e, high_e = low.ravel(), high.ravel()
        e, iterations = _minimum(H, f, A, least, low_e, high_e, len(low))
        e = np.minimum(np.maximum(e, low_e), high_e)  # the solver rounds
        room = (A @ e - least).reshape(stages.margins.shape)
        states = self._G[:, :, 1:] @ e + self._G[:, :, 0]
        return Solution(states, e.reshape(low.shape), room, iterations)

    def _condense(self) -> None:
        """Write out G; the first state is given."""
        self._G[1:] = 0.0
        self._driven[:] = self._stages.B[:-1]
        self._G[1:, :, 0] = self._stages.defect[:-1]
        for A, here, product, after in self._steps:
            np.matmul(A, here, out=product)
            np.add(after, product, out=after)


def _diagonal(blocks: Array, width: int, shift: int) -> Array:
    """Return a view of as many columns of each block, each time further to the right."""
    first, row, column = blocks.strides
    shape = (*blocks.shape[:2], width)
    return as_strided(blocks, shape, (first + shift * column, row, column))


def _minimum(
    H: Array, f: Array, A: Array, least: Array, low: Array, high: Array, nodes: int
) -> tuple[Array, int]:
    """
    Return e and the iterations.

    The penalty is exact: where rows can be kept, at a lower price than the slack, the solution
    is that of the program without slack, which is smaller.
    """
    slope = PENALTY * (1.0 + np.abs(f).max() / max(float(np.abs(A).max(initial=0.0)), 1e-12))
    upper = np.concatenate([high, np.full(len(A), UNBOUNDED)])
    e, _, flag, info = solver()(H, f, A, upper, np.concatenate([low, least]))
    if flag == SOLVED and np.isfinite(e).all():
        prices = np.abs(info['lam'][len(f) :]).reshape(nodes, -1).sum(axis=1)
        if prices.max(initial=0.0) <= slope:
            return np.asarray(e), int(info['iterations'])
    return _softened(H, f, A, least, low, high, nodes, slope)


def _softened(
    H: Array,
    f: Array,
    A: Array,
    least: Array,
    low: Array,
    high: Array,
    nodes: int,
    slope: float,
) -> tuple[Array, int]:
    """Return e and the iterations, with a slack for each node where there are rows."""
    size = len(f)
    soft = nodes if len(A) else 0
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
    if flag < SOLVED or not np.isfinite(e).all():
        raise UnsolvedError(f'the solver gave up with flag {flag}')
    return np.asarray(e[:size]), int(info['iterations'])
