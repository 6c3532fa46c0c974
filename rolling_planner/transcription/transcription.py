"""
Direct collocation: a trajectory as nodes, the equations of motion as constraints between them.

Derivatives are exact and sparse: Jacobian and Hessian of the whole problem are put together from
those of the nodes by constant sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_planner.transcription.collocation import CollocationRule, RULES
from rolling_planner.transcription.node_functions import NodeFunctions, sparsity_pattern, Terminal
from rolling_planner.transcription.triplets import pattern, Triplets


@dataclass(frozen=True, eq=False)
class Transcription:
    """
    A nonlinear programme in IPOPT's form.

    Attributes
    ----------
    nlp
        ``x, p, f, g`` for ``casadi.nlpsol``: the variables are (x, u) of node after node, the
        parameters the data of node after node.
    grad_f, jac_g, hess_lag
        Exact derivatives, with the names that casadi.nlpsol expects.
    node_times
        Times of the nodes [s].
    segment_nodes
        Indices of the nodes at the ends of the segments.
    rows
        Where the constraints stand in g: ``motion``, ``control``, ``goal``, ``path`` (node after
        node) and ``terminal``.

    """

    nlp: dict[str, ca.MX]
    grad_f: ca.Function
    jac_g: ca.Function
    hess_lag: ca.Function
    node_times: Array
    segment_nodes: NDArray[np.int_]
    rows: dict[str, slice]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.node_times)


# long, since cost, constraints and their derivatives come from the same stack of nodes
def transcribe(
    nodes: NodeFunctions,
    n_data: int,
    times: Array,
    method: str,
    goal_rows: Array,
    terminal: Terminal | None = None,
    poll: Callable[[], object] = lambda: None,
) -> Transcription:
    """
    Return the nonlinear programme of a collocation.

    Parameters
    ----------
    nodes
        Functions of a node.
    n_data
        Number of data of a node.
    times
        Ends of the segments [s], shape (N + 1,).
    method
        ``hermite_simpson`` or ``trapezoidal``.
    goal_rows
        Matrix (k, n_states): linear constraints on the last state.
    terminal
        Cost and nonlinear constraints of the last node, or None.
    poll
        Called now and then.

    Returns
    -------
    Transcription
        Functions for the solver.

    """
    rule = RULES[method](np.asarray(times, dtype=float))
    nz, ny, M = nodes.size, nodes.n_values, len(rule.node_times)
    z, d = ca.MX.sym('z', nz * M), ca.MX.sym('d', n_data * M)
    lam_f = ca.MX.sym('lam_f')
    zm = ca.reshape(z, nz, M)
    dm = ca.reshape(d, n_data, M)[: nodes.value.numel_in(1), :]
    # g = E z + D y with y the values of all nodes; f = w . y
    E, D, rows = _constraints(rule, nodes, goal_rows)
    w = np.zeros((M, ny))
    w[:, -1] = rule.weights
    y = ca.vec(nodes.value.map(M)(zm, dm))
    f, g = ca.dot(ca.DM(w.ravel()), y), E.to_casadi() @ z + D.to_casadi() @ y
    poll()
    place, shape = _stacked(nodes.jacobian_sparsity, M, ny, nz), (ny * M, nz * M)
    jac_nz = ca.vec(nodes.jacobian.map(M)(zm, dm))
    jac_g = _jacobian(E, D, place, shape, jac_nz)
    poll()
    grad_f = _gradient_map(w.ravel(), place, nz * M).to_casadi() @ jac_nz
    n_main = g.numel()
    lam_g = ca.MX.sym('lam_g', n_main + (terminal.n_rows if terminal else 0))
    multiplier = D.transposed.to_casadi() @ lam_g[:n_main] + lam_f * ca.DM(w.ravel())
    hess = _block_diagonal(
        nodes.hessian_sparsity,
        M,
        nz,
        ca.vec(nodes.hessian.map(M)(zm, dm, ca.reshape(multiplier, ny, M))),
    )
    poll()
    if terminal is not None:
        last = z[nz * (M - 1) :], d[n_data * (M - 1) :]
        pick = Triplets.eye(nz, nz * M, nz * (M - 1)).to_casadi()
        cost, values = terminal.value(*last)
        gradient, jacobian = terminal.jacobian(*last)
        f, grad_f = f + cost, grad_f + pick.T @ gradient
        g, jac_g = ca.vertcat(g, values), ca.vertcat(jac_g, jacobian @ pick)
        hess += pick.T @ terminal.hessian(*last, lam_f, lam_g[n_main:]) @ pick
    rows['terminal'] = slice(n_main, g.numel())
    return Transcription(
        nlp={'x': z, 'p': d, 'f': f, 'g': g},
        # a sparse gradient would be misread by the solver's interface
        grad_f=ca.Function(
            'nlp_grad_f', [z, d], [f, ca.densify(grad_f)], ['x', 'p'], ['f', 'grad:f:x']
        ),
        jac_g=ca.Function('nlp_jac_g', [z, d], [g, jac_g], ['x', 'p'], ['g', 'jac:g:x']),
        hess_lag=ca.Function(
            'nlp_hess_l',
            [z, d, lam_f, lam_g],
            [hess],
            ['x', 'p', 'lam:f', 'lam:g'],
            ['hess:gamma:x:x'],
        ),
        node_times=rule.node_times,
        segment_nodes=rule.segment_nodes,
        rows=rows,
    )


def _constraints(
    rule: CollocationRule, nodes: NodeFunctions, goal_rows: Array
) -> tuple[Triplets, Triplets, dict[str, slice]]:
    """Return E, D and the rows of g = E z + D y."""
    nx, nu, nh = nodes.n_states, nodes.n_controls, nodes.n_path
    nz, ny, M = nodes.size, nodes.n_values, len(rule.node_times)
    pick_x, pick_u = Triplets.eye(nx, nz), Triplets.eye(nu, nz, nx)
    pick_f, pick_h = Triplets.eye(nx, ny), Triplets.eye(nh, ny, nx)
    n_control, n_goal = rule.control_rows.shape[0] * nu, len(goal_rows)
    E = Triplets.stack(
        [
            rule.state_rows.kron(pick_x),
            rule.control_rows.kron(pick_u),
            Triplets.dense(goal_rows, nz * (M - 1), nz * M),
            Triplets.of((nh * M, nz * M)),
        ]
    )
    D = Triplets.stack(
        [
            rule.rate_rows.kron(pick_f),
            Triplets.of((n_control + n_goal, ny * M)),
            Triplets.eye(M, M).kron(pick_h),
        ]
    )
    ends = np.cumsum([0, rule.state_rows.shape[0] * nx, n_control, n_goal, nh * M]).tolist()
    names = ('motion', 'control', 'goal', 'path')
    return E, D, {n: slice(a, b) for n, a, b in zip(names, ends[:-1], ends[1:], strict=True)}


def _stacked(
    sparsity: ca.Sparsity, M: int, n_rows: int, n_columns: int
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return rows and columns of the nonzeros of the block diagonal matrix of M blocks."""
    r, c = sparsity_pattern(sparsity)
    k = np.arange(M)[:, None]
    return (r + k * n_rows).ravel(), (c + k * n_columns).ravel()


def _block_diagonal(sparsity: ca.Sparsity, M: int, n: int, nonzeros: ca.MX) -> ca.MX:
    """Return the block diagonal matrix of M blocks; column after column, as nonzeros stand."""
    rows, columns = _stacked(sparsity, M, n, n)
    return ca.MX(pattern(rows, columns, (n * M, n * M)), nonzeros)


def _jacobian(
    E: Triplets,
    D: Triplets,
    place: tuple[NDArray[np.int_], NDArray[np.int_]],
    shape: tuple[int, int],
    jac_nz: ca.MX,
) -> ca.MX:
    """Return E + D J as an MX whose nonzeros are a constant plus a constant matrix times nz(J)."""
    rows, columns = place
    by_row = np.argsort(rows, kind='stable')
    starts = np.searchsorted(rows[by_row], np.arange(shape[0] + 1))
    # every product D_ri J_ic: an entry at (r, c) with coefficient D_ri and source nz(J)_ic
    counts = np.diff(starts)[D.columns]
    owner = np.repeat(np.arange(len(D.rows)), counts)
    offset = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    source = by_row[np.repeat(starts[D.columns], counts) + offset]
    n = E.shape[0]
    key = np.concatenate([E.columns * n + E.rows, columns[source] * n + D.rows[owner]])
    unique, where = np.unique(key, return_inverse=True)
    split = len(E.rows)
    constant = np.bincount(where[:split], weights=E.values, minlength=len(unique))
    linear = Triplets.of((len(unique), len(rows)), (where[split:], source, D.values[owner]))
    return ca.MX(
        pattern(unique % n, unique // n, E.shape),
        linear.to_casadi() @ jac_nz + ca.DM(constant),
    )


def _gradient_map(w: Array, place: tuple[NDArray[np.int_], NDArray[np.int_]], n: int) -> Triplets:
    """Return the matrix that maps nz(J) to J^T w."""
    rows, columns = place
    used = np.flatnonzero(w[rows])
    return Triplets.of((n, len(rows)), (columns[used], used, w[rows[used]]))
