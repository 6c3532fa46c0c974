"""Transcription of a problem by collocation: points, sparse entries, constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled_once

DERIVATION = 'derivatives of a node, 2'  # version, to change with the derivation
BY_DIRECTION = 'by direction, 1'  # the same for large nodes
LARGE = 100_000  # operations of a node times its variables: above, derivatives are by direction


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
        Positions of the nonzeros.
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
        Symbols of states, controls, and all other data of the expressions.
    rates
        Rates of the states.
    path
        Path constraints, each with a lower bound.
    cost
        Running cost.

    Returns
    -------
    NodeFunctions
        Value, Jacobian and Hessian; if machine code is in the cache, nothing is differentiated.
        Those of a large node are loops over directions: inlined, they compile for minutes.

    """
    z = ca.vertcat(x, u)
    # constraints share terms with the dynamics, which saves two thirds of the Hessian's operations
    y = ca.cse(ca.densify(ca.vertcat(rates, path, cost)))
    value = ca.Function('node_value', [z, data], [y])
    large = value.n_instructions() * z.numel() > LARGE

    def build() -> tuple[ca.Function, ...]:
        if large:
            return value, *_by_direction(value, (z, data), y)
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
    derivation = DERIVATION + BY_DIRECTION * large
    f, jacobian, hessian, *patterns = compiled_once(derivation + value.serialize(), names, build)
    places = [g.sparsity_out(0) for g in patterns]
    return NodeFunctions(
        f, jacobian, hessian, places[0], places[1], x.numel(), u.numel(), path.numel()
    )


def _by_direction(
    value: ca.Function, symbols: tuple[ca.SX, ca.SX], y: ca.SX
) -> Iterator[ca.Function]:
    """Yield Jacobian and Hessian of a node as loops over unit vectors, then their patterns."""
    z, n = symbols[0], symbols[0].numel()
    d, weight = ca.SX.sym('direction of a node', n), ca.SX.sym('weight of a node', y.numel())
    weighted = *symbols, weight
    gradient = ca.cse(ca.gradient(ca.dot(weight, y), z))
    curved = ca.Function('gradient', weighted, [gradient]).jac_sparsity(0, 0)
    each = (
        ('node_jacobian', symbols, y, value.jac_sparsity(0, 0)),
        ('node_hessian', weighted, gradient, ca.triu(curved)),
    )
    for name, at, of, pattern in each:
        along = ca.densify(ca.cse(ca.jtimes(of, z, d)))
        one = ca.Function('along', [*at, d], [along])
        given = [ca.MX.sym(f'in_{k}', s.numel()) for k, s in enumerate(at)]
        every = one.map('every', 'serial', n, list(range(len(at))), [])
        columns = every(*given, ca.MX(ca.DM.eye(n)))
        yield ca.Function(name, given, [ca.project(columns, pattern).nz[:]])
    for name, _, _, pattern in each:
        yield ca.Function(f'{name}_pattern', [], [ca.DM(pattern, 1)])


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


def matrix_of(shape: tuple[int, int], *parts: tuple[ArrayLike, ArrayLike, ArrayLike]) -> ca.DM:
    """
    Return the sparse matrix with entries (rows, columns, values), all at different positions.

    Values may be a scalar, in any unit.
    """
    whole = [np.broadcast_arrays(*part) for part in parts]
    r, c, v = (np.concatenate([np.zeros(0), *(p[k].ravel() for p in whole)]) for k in range(3))
    return ca.DM.triplet(r.astype(int).tolist(), c.astype(int).tolist(), ca.DM(v), *shape)


def picks(count: int, size: int, first: int = 0) -> ca.DM:
    """Return the sparse matrix that selects entries of ``size`` from the ``first`` one on."""
    return ca.DM.eye(size)[first : first + count, :]


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
        Coefficients of the combinations, one column for each node.
    weights
        Weights of the quadrature of the running cost.

    """

    node_times: Array
    segment_nodes: NDArray[np.int_]
    state_rows: ca.DM
    rate_rows: ca.DM
    control_rows: ca.DM
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
        state_rows=matrix_of(shape, (k, k + 1, 1.0), (k, k, -1.0)),
        rate_rows=matrix_of(shape, (k, k, -h / 2), (k, k + 1, -h / 2)),  # (49)
        control_rows=matrix_of((0, N + 1)),
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
    for node, fraction in ((left, 1), (middle, 4), (right, 1)):
        np.add.at(weights, node, fraction * h / 6)
    return CollocationRule(
        node_times=node_times,
        segment_nodes=2 * np.arange(N + 1),
        state_rows=matrix_of(
            (2 * N, M),
            (simpson, right, 1.0),
            (simpson, left, -1.0),
            (hermite, middle, 1.0),
            (hermite, left, -0.5),
            (hermite, right, -0.5),
        ),
        rate_rows=matrix_of(
            (2 * N, M),
            (simpson, left, -h / 6),
            (simpson, middle, -4 * h / 6),
            (simpson, right, -h / 6),
            (hermite, left, -h / 8),
            (hermite, right, h / 8),
        ),
        control_rows=matrix_of((N, M), (k, middle, 1.0), (k, left, -0.5), (k, right, -0.5)),
        weights=weights,
    )


RULES: dict[str, Callable[[Array], CollocationRule]] = {
    'hermite_simpson': hermite_simpson,
    'trapezoidal': trapezoidal,
}
METHODS = tuple(RULES)


@dataclass(frozen=True, eq=False)
class Transcription:
    """
    A nonlinear programme in IPOPT's form.

    Attributes
    ----------
    nlp
        ``x, p, f, g`` for ``casadi.nlpsol``: the variables are (x, u) of all nodes in order, the
        parameters are the data of all nodes in order.
    grad_f, jac_g, hess_lag
        Exact derivatives, with the names that casadi.nlpsol expects.
    node_times
        Times of the nodes [s].
    segment_nodes
        Indices of the nodes at the ends of the segments.
    rows
        Positions of the constraints in g: ``motion``, ``control``, ``goal``, ``path`` (nodes in
        order) and ``terminal``.

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


# long, since cost, constraints and their derivatives use the same stack of nodes
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
        Called repeatedly.

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
    f, g = ca.dot(ca.DM(w.ravel()), y), E @ z + D @ y
    poll()
    J = _block_diagonal(nodes.jacobian_sparsity, nodes.jacobian.map(M)(zm, dm))
    jac_g = E + D @ J
    poll()
    grad_f = J.T @ ca.DM(w.ravel())
    n_main = g.numel()
    lam_g = ca.MX.sym('lam_g', n_main + (terminal.n_rows if terminal else 0))
    multiplier = D.T @ lam_g[:n_main] + lam_f * ca.DM(w.ravel())
    hess = _block_diagonal(
        nodes.hessian_sparsity, nodes.hessian.map(M)(zm, dm, ca.reshape(multiplier, ny, M))
    )
    poll()
    if terminal is not None:
        last = z[nz * (M - 1) :], d[n_data * (M - 1) :]
        pick = picks(nz, nz * M, nz * (M - 1))
        cost, values = terminal.value(*last)
        gradient, jacobian = terminal.jacobian(*last)
        f, grad_f = f + cost, grad_f + pick.T @ gradient
        g, jac_g = ca.vertcat(g, values), ca.vertcat(jac_g, jacobian @ pick)
        hess += pick.T @ terminal.hessian(*last, lam_f, lam_g[n_main:]) @ pick
    rows['terminal'] = slice(n_main, g.numel())
    return Transcription(
        nlp={'x': z, 'p': d, 'f': f, 'g': g},
        # the solver's interface would misread a sparse gradient
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
) -> tuple[ca.DM, ca.DM, dict[str, slice]]:
    """Return E, D and the rows of g = E z + D y."""
    nx, nu, nh = nodes.n_states, nodes.n_controls, nodes.n_path
    nz, ny, M = nodes.size, nodes.n_values, len(rule.node_times)
    n_control, n_goal = rule.control_rows.shape[0] * nu, len(goal_rows)
    rows, columns = np.nonzero(goal_rows)
    last = nz * (M - 1) + columns
    E = ca.vertcat(
        ca.kron(rule.state_rows, picks(nx, nz)),
        ca.kron(rule.control_rows, picks(nu, nz, nx)),
        matrix_of((n_goal, nz * M), (rows, last, goal_rows[rows, columns])),
        ca.DM(nh * M, nz * M),
    )
    D = ca.vertcat(
        ca.kron(rule.rate_rows, picks(nx, ny)),
        ca.DM(n_control + n_goal, ny * M),
        ca.kron(ca.DM.eye(M), picks(nh, ny, nx)),
    )
    ends = np.cumsum([0, rule.state_rows.shape[0] * nx, n_control, n_goal, nh * M]).tolist()
    names = ('motion', 'control', 'goal', 'path')
    return E, D, {n: slice(a, b) for n, a, b in zip(names, ends[:-1], ends[1:], strict=True)}


def _block_diagonal(sparsity: ca.Sparsity, nonzeros: ca.MX) -> ca.MX:
    """Return the block-diagonal matrix of blocks whose nonzeros are given in columns."""
    return ca.MX(ca.diagcat(*[sparsity] * nonzeros.shape[1]), ca.vec(nonzeros))
