"""Solution of the linear equations of motion by sparse elimination, as an expression."""

from __future__ import annotations

import casadi as ca


def eliminate(matrix: ca.SX, right: ca.SX, *, symmetric: bool) -> ca.SX:
    """
    Return the solution of linear equations, without pivoting.

    The unknown whose row has the fewest entries goes first: of a machine that is a body whose
    inertia is the same about every axis, and it costs least.

    Parameters
    ----------
    matrix
        Mass matrix (n, n), whose structural zeros count; positive definite, or close to it.
    right
        Right sides (n, m).
    symmetric
        Whether the matrix is symmetric: half of it is used, as L D L'.

    Returns
    -------
    SX
        Shape (n, m).

    """
    n = matrix.shape[0]
    a = {
        (i, j): matrix[i, j]
        for i in range(n)
        for j in range(n)
        if not (matrix[i, j].is_zero() and matrix[j, i].is_zero())
    }
    b = [right[i, :] for i in range(n)]
    left, order = list(range(n)), []
    inverse: dict[int, ca.SX] = {}
    while left:
        k = min(left, key=lambda i: sum((i, j) in a for j in left))
        left.remove(k)
        order.append(k)
        inverse[k] = 1 / a[k, k]
        rows = [i for i in left if (i, k) in a]
        for i in rows:
            factor = (a[k, i] if symmetric else a[i, k]) * inverse[k]
            b[i] = b[i] - factor * b[k]
            for j in rows:
                if symmetric and left.index(j) < left.index(i):
                    a[i, j] = a[j, i]
                else:
                    a[i, j] = a.get((i, j), ca.SX(0)) - factor * a[k, j]
    x: list[ca.SX] = [ca.SX(0)] * n
    for k in reversed(order):
        later = [j for j in order[order.index(k) + 1 :] if (k, j) in a]
        x[k] = (b[k] - sum((a[k, j] * x[j] for j in later), ca.SX(0))) * inverse[k]
    return ca.vertcat(*x)
