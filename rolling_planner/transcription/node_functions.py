"""
What a collocation evaluates at each node: rates, path constraints, running cost.

Value, Jacobian and Hessian are written out once for a model, compiled and cached; a problem with
any number of nodes maps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled_once

DERIVATION = 'derivatives of a node, 2'  # to be changed with the way in which they are derived


@dataclass(frozen=True, eq=False)
class NodeFunctions:
    """
    The functions of a node; z = (x, u) are its variables, d its data.

    Attributes
    ----------
    value
        ``(z, d) -> y`` with y = (rates, path constraints, running cost).
    jacobian
        ``(z, d) -> nonzeros of dy/dz``.
    hessian
        ``(z, d, m) -> nonzeros of the upper triangle of d2(m . y)/dz2``.
    jacobian_sparsity, hessian_sparsity
        Where the nonzeros stand.
    n_states, n_controls, n_path
        Numbers of states, controls, path constraints.

    """

    value: ca.Function
    jacobian: ca.Function
    hessian: ca.Function
    jacobian_sparsity: ca.Sparsity
    hessian_sparsity: ca.Sparsity
    n_states: int
    n_controls: int
    n_path: int

    @property
    def size(self) -> int:
        """Number of variables of a node."""
        return self.n_states + self.n_controls

    @property
    def n_values(self) -> int:
        """Number of values of a node."""
        return self.n_states + self.n_path + 1


def node_functions(
    x: ca.SX, u: ca.SX, data: ca.SX, rates: ca.SX, path: ca.SX, cost: ca.SX
) -> NodeFunctions:
    """
    Return the compiled functions of a node.

    Parameters
    ----------
    x, u, data
        Symbols: states, controls, and all else that the expressions depend on.
    rates
        Rates of the states.
    path
        Path constraints, each to be kept at or above a bound.
    cost
        Running cost.

    Returns
    -------
    NodeFunctions
        Value, Jacobian and Hessian; where machine code is in the cache nothing is differentiated.

    """
    z = ca.vertcat(x, u)
    # constraints repeat the dynamics; written out once, the Hessian has a third of the operations
    y = ca.cse(ca.densify(ca.vertcat(rates, path, cost)))
    value = ca.Function('node_value', [z, data], [y])

    def build() -> tuple[ca.Function, ...]:
        weight = ca.SX.sym('m', y.numel())
        jacobian = ca.jacobian(y, z)
        hessian = ca.triu(ca.hessian(ca.dot(weight, y), z)[0])
        return (
            value,
            ca.Function('node_jacobian', [z, data], [jacobian.nz[:]]),
            ca.Function('node_hessian', [z, data, weight], [hessian.nz[:]]),
            ca.Function('node_jacobian_pattern', [], [ca.DM(jacobian.sparsity(), 1)]),
            ca.Function('node_hessian_pattern', [], [ca.DM(hessian.sparsity(), 1)]),
        )

    names = (
        'node_value',
        'node_jacobian',
        'node_hessian',
        'node_jacobian_pattern',
        'node_hessian_pattern',
    )
    f, jacobian, hessian, *patterns = compiled_once(DERIVATION + value.serialize(), names, build)
    places = [g.sparsity_out(0) for g in patterns]
    return NodeFunctions(
        f, jacobian, hessian, places[0], places[1], x.numel(), u.numel(), path.numel()
    )


def sparsity_pattern(sparsity: ca.Sparsity) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the row and the column index of each nonzero, in their order, shape (nonzeros,)."""
    rows, columns = sparsity.get_triplet()
    return np.array(rows, dtype=int), np.array(columns, dtype=int)


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
