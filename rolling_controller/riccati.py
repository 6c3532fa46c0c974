"""
Finite-horizon linear quadratic regulator by a square-root Riccati recursion.

The recursion carries a factor L with P = L^T L and moves it by one QR factorisation a step, so
that P can neither lose symmetry nor become indefinite, however stiff the weights are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_controller.linearization import LinearSteps


class RiccatiSolution(NamedTuple):
    """Gains K of u = -K d, shape (k, m, n); factors L of the cost to go, (k + 1, n, n)."""

    gains: NDArray[np.float64]
    factors: NDArray[np.float64]


def solve_riccati(
    steps: LinearSteps,
    Q_root: NDArray[np.float64],
    R_root: NDArray[np.float64],
    P_end_root: NDArray[np.float64],
) -> RiccatiSolution:
    """
    Return the gains that minimise the quadratic cost along linearised steps.

    The cost is sum_k (|Q_root d_k|^2 + |R_root u_k|^2) + |P_end_root d_N|^2; the discrete-time
    counterpart of Woodruff & Lynch, Eq. (18).

    Parameters
    ----------
    steps
        Linearised steps, k of them.
    Q_root, R_root
        Factors of the running weights, shapes (n, n) and (m, m); R_root regular.
    P_end_root
        Factor of the terminal weight, shape (n, n).

    Returns
    -------
    RiccatiSolution
        Gains and cost to go.

    """
    count, n, m = steps.B.shape
    gains, factors = np.empty((count, m, n)), np.empty((count + 1, n, n))
    L = factors[count] = P_end_root
    stack = np.zeros((m + 2 * n, m + n))
    stack[:m, :m] = R_root
    stack[m + n :, m:] = Q_root
    for k in range(count - 1, -1, -1):
        stack[m : m + n, :m] = L @ steps.B[k]
        stack[m : m + n, m:] = L @ steps.A[k]
        triangle = np.asarray(np.linalg.qr(stack, mode='r'))
        gains[k] = np.linalg.solve(triangle[:m, :m], triangle[:m, m:])
        L = factors[k] = triangle[m:, m:]
    return RiccatiSolution(gains, factors)


def controllability_gramian(steps: LinearSteps) -> NDArray[np.float64]:
    """Return the Gramian W of the end state, sum of Phi B B^T Phi^T over the steps."""
    n = steps.A.shape[1]
    W = np.zeros((n, n))
    for A, B in zip(steps.A, steps.B, strict=True):
        W = A @ W @ A.T + B @ B.T
    return W
