"""
Finite-horizon linear quadratic regulator by a square-root Riccati recursion.

The recursion carries a factor L with P = L^T L, with one QR factorisation per step. So P can
neither lose symmetry nor become indefinite, however stiff the weights are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rolling_controller.nominal import LinearSteps
from rolling_dynamics.arrays import Array


class RiccatiSolution(NamedTuple):
    """Gains K of u = -K d, shape (k, m, n); factors L of the cost to go, (k + 1, n, n)."""

    gains: Array
    factors: Array


def solve_riccati(
    steps: LinearSteps,
    Q_root: Array,
    R_root: Array,
    P_end_root: Array,
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
    factors = np.empty((count + 1, n, n))
    pivots, rows = np.empty((count, m, m)), np.empty((count, m, n))
    L = factors[count] = P_end_root
    upper = np.triu(np.ones((m + n, m + n)))
    stack = np.zeros((m + 2 * n, m + n))
    stack[:m, :m] = R_root
    stack[m + n :, m:] = Q_root
    for k in range(count - 1, -1, -1):
        stack[m : m + n, :m] = L @ steps.B[k]
        stack[m : m + n, m:] = L @ steps.A[k]
        reflectors, _ = np.linalg.qr(stack, mode='raw')  # transposed; R stands above its vectors
        triangle = reflectors.T[: m + n] * upper
        pivots[k], rows[k] = triangle[:m, :m], triangle[:m, m:]
        L = factors[k] = triangle[m:, m:]
    return RiccatiSolution(np.array(np.linalg.solve(pivots, rows), dtype=float), factors)


class Reach(NamedTuple):
    """
    Effect of steps on errors: transition Phi, and Gramian W of the controls.

    W is the sum of Phi B B^T Phi^T over the steps, Phi from each step's end to the last one's.
    """

    transition: Array
    gramian: Array

    @classmethod
    def of(cls, steps: LinearSteps) -> Reach:
        """Return the reach of steps."""
        n = steps.A.shape[1]
        Phi, W = np.eye(n), np.zeros((n, n))
        for A, B in zip(steps.A, steps.B, strict=True):
            Phi, W = A @ Phi, A @ W @ A.T + B @ B.T
        return cls(Phi, W)

    def after(self, earlier: Reach) -> Reach:
        """Return the reach of earlier steps and these."""
        Phi = self.transition
        return Reach(Phi @ earlier.transition, self.gramian + Phi @ earlier.gramian @ Phi.T)
