"""Cost and nonlinear constraints of the last node."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class Terminal:
    """
    Functions of the last node; z = (x, u) are its variables, d its data.

    Attributes
    ----------
    value
        ``(z, d) -> cost, rows``.
    jacobian
        ``(z, d) -> gradient of the cost, Jacobian of the rows``.
    hessian
        ``(z, d, lam_f, lam_g) -> upper triangle of the Hessian of lam_f cost + lam_g . rows``.
    n_rows
        Number of rows.

    """

    value: ca.Function
    jacobian: ca.Function
    hessian: ca.Function
    n_rows: int


def terminal_functions(z: ca.SX, d: ca.SX, cost: ca.SX, rows: ca.SX) -> Terminal:
    """Return the functions of a cost and of rows that are given as expressions."""
    cost, rows = ca.densify(cost), ca.densify(rows)
    lam_f, lam_g = ca.SX.sym('lam_f'), ca.SX.sym('lam_g', rows.numel())
    hessian = ca.triu(ca.hessian(lam_f * cost + ca.dot(lam_g, rows), z)[0])
    return Terminal(
        value=ca.Function('terminal_value', [z, d], [cost, rows]),
        jacobian=ca.Function(
            'terminal_jacobian', [z, d], [ca.densify(ca.gradient(cost, z)), ca.jacobian(rows, z)]
        ),
        hessian=ca.Function('terminal_hessian', [z, d, lam_f, lam_g], [hessian]),
        n_rows=rows.numel(),
    )
