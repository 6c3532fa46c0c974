"""Derivatives and order of convergence of the collocation."""

import casadi as ca
import numpy as np
from planning_problems import at_rest, ball, published, reorientation, TILT
import pytest
from rolling_dynamics.simulation import simulate
from rolling_planner import PlanProblem
from rolling_planner.transcription.formulation import formulate, Formulation, plan_bounds
from rolling_planner.transcription.transcription import (
    matrix_of,
    METHODS,
    node_functions,
    picks,
    RULES,
)
from scipy.sparse.linalg import spsolve

STEP = 1e-6


def release():
    system, p = ball()
    return PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system),
        goal={'v_WO_W': [0.2, 0, 1], 'q_WO': [1, 0, 0, 0]},
        horizon=0.5,
        active_controls=('alpha_WH_H_y', 'a_WH_H_x', 'a_WH_H_z'),
        release=True,
    )


def pure_rolling():
    system, p = ball(friction='pure_rolling', mu_spin=0.01)
    return PlanProblem(
        system=system,
        p=p,
        x_start=at_rest(system),
        goal={'contact_h': [0.02, 0]},
        horizon=1.0,
        active_controls=TILT,
    )


PROBLEMS = {
    'hard goal': reorientation,
    'pure rolling': pure_rolling,
    'published weights': published,
    'release': release,
}


def transcribed(problem, method, segments=3):
    """Return formulation, transcription, and random variables and data near the start."""
    f: Formulation = formulate(problem)
    times = np.linspace(0, problem.horizon, segments + 1)
    t = f.transcription(times, method, f.goal(problem).rows)
    shares = t.node_times / problem.horizon
    d = f.data(problem, shares, problem.x_start, tracking=True)
    rng = np.random.default_rng(3)
    nx = f.model.state.size
    z = rng.normal(size=(t.n_nodes, f.nodes.size)) * 0.2
    z[:, :nx] += problem.x_start[f.model.state_index]
    return f, t, z.ravel(), d.ravel()


def differences(function, z, step=STEP):
    """Return the Jacobian of a function by central differences."""
    columns = [
        (function(z + step * e) - function(z - step * e)) / (2 * step) for e in np.eye(z.size)
    ]
    return np.array(columns).T


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('name', PROBLEMS)
def test_derivatives_agree_with_differences(name, method):
    _, t, z, d = transcribed(PROBLEMS[name](), method)
    fg = ca.Function('fg', [t.nlp['x'], t.nlp['p']], [t.nlp['f'], t.nlp['g']])
    f, gradient = (np.array(o) for o in t.grad_f(z, d))
    g, jacobian = (np.array(o) for o in t.jac_g(z, d))
    assert f == pytest.approx(np.array(fg(z, d)[0]))
    np.testing.assert_allclose(g, np.array(fg(z, d)[1]))
    wanted = differences(lambda v: np.array(fg(v, d)[0]).ravel(), z)
    np.testing.assert_allclose(gradient.ravel(), wanted.ravel(), rtol=1e-5, atol=5e-6)
    scale = max(1.0, np.abs(jacobian).max())
    wanted = differences(lambda v: np.array(fg(v, d)[1]).ravel(), z)
    np.testing.assert_allclose(jacobian, wanted, atol=1e-6 * scale)


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('name', PROBLEMS)
def test_the_hessian_agrees_with_differences_of_the_gradient(name, method):
    _, t, z, d = transcribed(PROBLEMS[name](), method, segments=2)
    rng = np.random.default_rng(5)
    lam = rng.normal(size=t.nlp['g'].numel())

    def lagrangian_gradient(v):
        gradient, jacobian = t.grad_f(v, d)[1], t.jac_g(v, d)[1]
        return (0.7 * np.array(gradient).ravel()) + np.array(jacobian).T @ lam

    upper = np.array(t.hess_lag(z, d, 0.7, lam))
    assert np.abs(np.tril(upper, -1)).max() == 0
    whole = upper + np.triu(upper, 1).T
    wanted = differences(lagrangian_gradient, z)
    np.testing.assert_allclose(whole, wanted, atol=2e-6 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize('method', METHODS)
def test_the_solver_is_given_a_dense_gradient_and_sparse_matrices(method):
    _, t, _, _ = transcribed(reorientation(), method, segments=20)
    n = t.nlp['x'].numel()
    assert t.grad_f.sparsity_out(1).is_dense()  # IPOPT misreads a sparse one without a word
    assert t.jac_g.nnz_out(1) < 40 * n
    assert t.hess_lag.nnz_out(0) < 40 * n
    assert t.hess_lag.sparsity_out(0).is_triu()


def collocated_end(problem, control, segments, method):
    """Return the last state of the trajectory that fulfils the collocation for a control."""
    f = formulate(problem)
    rows = np.zeros((0, f.model.state.size))
    times = np.linspace(0, problem.horizon, segments + 1)
    t = f.transcription(times, method, rows)
    d = f.data(problem, t.node_times / problem.horizon, problem.x_start, tracking=True).ravel()
    nx, M = f.model.state.size, t.n_nodes
    u = np.array([control(s) for s in t.node_times])
    X = np.tile(problem.x_start[f.model.state_index], (M, 1))
    motion = t.rows['motion']
    free = np.arange(M * f.nodes.size).reshape(M, -1)[1:, :nx].ravel()
    for _ in range(12):  # Newton on the defects
        z = np.hstack([X, u]).ravel()
        g, J = t.jac_g(z, d)
        step = spsolve(J.sparse()[motion][:, free].tocsc(), np.array(g).ravel()[motion])
        X[1:] -= step.reshape(M - 1, nx)
        if np.abs(step).max() < 1e-13:
            break
    return f.model.expand_states(X[-1:], problem.x_start)[0]


@pytest.mark.parametrize(('method', 'order'), [('trapezoidal', 2), ('hermite_simpson', 4)])
def test_order_of_convergence(method, order):
    problem = reorientation(goal={}, horizon=1.0)

    def control(s):
        return np.array([8 * np.sin(2 * np.pi * s), 5 * np.cos(3 * s)])

    # within a segment the exact solution follows the smooth control, as does the rule at its nodes
    def whole(s):
        return np.concatenate([control(s), np.zeros(4)])

    exact = simulate(
        problem.system,
        problem.p,
        problem.x_start,
        whole,
        1.0,
        rtol=1e-10,
        atol=1e-12,
        events=(),
    ).states[-1]
    grids = np.array([20, 40]) if order == 4 else np.array([60, 120])
    errors = [np.abs(collocated_end(problem, control, n, method) - exact).max() for n in grids]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] == pytest.approx(order, abs=0.15), errors


@pytest.mark.parametrize('method', METHODS)
def test_the_quadrature_is_exact_for_straight_lines(method):
    times = np.array([0.0, 0.3, 0.35, 1.0])
    rule = RULES[method](times)
    assert rule.weights @ (2 + 3 * rule.node_times) == pytest.approx(3.5)


def test_a_sparse_matrix_is_that_of_its_entries():
    rng = np.random.default_rng(0)
    at, values = np.array([1, 6, 2, 11]), rng.normal(size=4)
    expected = np.zeros(12)
    expected[at] = values
    found = matrix_of((3, 4), (at[:3] // 4, at[:3] % 4, values[:3]), (2, 3, values[3]))
    np.testing.assert_array_equal(np.array(found), expected.reshape(3, 4))
    assert found.nnz() == len(at)
    np.testing.assert_array_equal(np.array(picks(2, 4, 1)), np.eye(4)[1:3])


def test_what_constraints_repeat_is_evaluated_once():
    x, u = ca.SX.sym('x', 2), ca.SX.sym('u', 1)

    def size(times):
        path = ca.vertcat(*(ca.sin(x * u)[0] for _ in range(times)))
        nodes = node_functions(x, u, ca.SX(0, 1), ca.sin(x * u), path, ca.sumsqr(u))
        return sum(f.n_instructions() for f in (nodes.value, nodes.jacobian, nodes.hessian))

    assert size(3) < 1.5 * size(0)


def test_states_that_cannot_move_are_taken_out():
    problem = reorientation()
    model = formulate(problem).model
    names = np.array(problem.system.state.names)
    assert set(names[model.rest_index]) == {
        'p_WH_x',
        'p_WH_y',
        'p_WH_z',
        'v_WH_H_x',
        'v_WH_H_y',
        'v_WH_H_z',
        'w_WH_H_z',
    }


def test_problems_of_one_kind_share_a_formulation():
    first = formulate(reorientation())
    assert formulate(reorientation(mu=0.3, radius=0.08, horizon=1.5)) is first
    assert formulate(reorientation(friction_cone=False)) is not first


def test_bounds_hold_the_start_and_the_goal():
    problem = reorientation()
    f, t, _, _ = transcribed(problem, 'hermite_simpson')
    bounds = plan_bounds(problem, f, t, {}, f.goal(problem), problem.x_start[f.model.state_index])
    nx = f.model.state.size
    np.testing.assert_allclose(bounds.z_low[0, :nx], problem.x_start[f.model.state_index])
    assert np.all(bounds.z_high[:, nx:] == 50)
    width = bounds.g_high - bounds.g_low
    assert np.all(width[t.rows['motion']] == 0)
    assert np.all(width[t.rows['goal']] > 0)
    assert np.all(width[t.rows['goal']] < problem.goal_tolerance)
