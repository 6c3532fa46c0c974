"""
The update of a Kalman filter by a measurement, as a compiled function.

With the innovation covariance ``S = L L^T`` and ``Y = L^-1 H C``, what is estimated moves by
``Y^T L^-1 innovation`` and the covariance becomes ``C - Y^T Y``, which stays symmetric.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from rolling_dynamics.compiled import compiled


@cache
def update_function(rows: int, states: int) -> ca.Function:
    """
    Return ``(C, H C, S, innovation) -> distance, correction, C``, compiled.

    Parameters
    ----------
    rows, states
        Numbers of the measurement, and of what is estimated.

    Returns
    -------
    casadi.Function
        Of the covariance (states, states), ``H C`` (states, rows) by columns, so its transpose,
        ``H C H^T`` with the noise (rows, rows), and the innovation; gives the squared Mahalanobis
        distance, the correction and the new covariance. Where S is not positive definite, nothing
        is finite.

    """
    C, S = ca.SX.sym('C', states, states), ca.SX.sym('S', rows, rows)
    CH, innovation = ca.SX.sym('CH', states, rows), ca.SX.sym('r', rows)
    # by columns: column k of L needs those before it
    L = [[ca.SX(0)] * rows for _ in range(rows)]
    for j in range(rows):
        L[j][j] = ca.sqrt(S[j, j] - sum(L[j][k] ** 2 for k in range(j)))
        for i in range(j + 1, rows):
            L[i][j] = (S[i, j] - sum(L[i][k] * L[j][k] for k in range(j))) / L[j][j]
    whitened: list[ca.SX] = []  # rows of L^-1 (innovation, H C)
    for i in range(rows):
        given = ca.horzcat(innovation[i], CH[:, i].T)
        rest = sum((L[i][k] * whitened[k] for k in range(i)), ca.SX.zeros(1, states + 1))
        whitened.append((given - rest) / L[i][i])
    W = ca.vertcat(*whitened)
    r, Y = W[:, 0], W[:, 1:]
    upper = ca.triu(ca.densify(C - Y.T @ Y))
    new = upper + ca.triu(upper, False).T
    out = ca.vertcat(ca.sumsqr(r), Y.T @ r, ca.vec(ca.densify(new)))
    return compiled(ca.Function(f'kalman_update_{rows}', [C, CH, S, innovation], [out]))[0]
