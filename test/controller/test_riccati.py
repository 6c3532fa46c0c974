"""The square-root Riccati recursion against cases that are known exactly."""

import numpy as np
from numpy.testing import assert_allclose
from rolling_controller.nominal import LinearSteps
from rolling_controller.riccati import Reach, solve_riccati
from scipy.linalg import expm, solve_discrete_are


def test_scalar_continuous_riccati_is_a_hyperbolic_tangent():
    # x' = u, cost q x^2 + r u^2: P(t) = sqrt(q r) tanh(sqrt(q / r) (t_f - t)) from P(t_f) = 0
    q, r, t_f, count = 3.0, 0.5, 1.7, 20_000
    h = t_f / count
    steps = LinearSteps(np.ones((count, 1, 1)), np.full((count, 1, 1), h))
    solution = solve_riccati(
        steps, np.array([[np.sqrt(q * h)]]), np.array([[np.sqrt(r * h)]]), np.zeros((1, 1))
    )
    times = np.arange(count + 1) * h
    P = solution.factors[:, 0, 0] ** 2
    exact = np.sqrt(q * r) * np.tanh(np.sqrt(q / r) * (t_f - times))
    assert_allclose(P, exact, atol=2 * h * q)  # the discrete cost is of first order in h


def test_long_horizon_reaches_the_algebraic_solution():
    rng = np.random.default_rng(1)
    n, m, count = 5, 2, 400
    A, B = expm(0.1 * rng.normal(size=(n, n))), rng.normal(size=(n, m))
    Q_root, R_root = rng.normal(size=(n, n)), np.diag(rng.uniform(0.5, 2, m))
    steps = LinearSteps(np.tile(A, (count, 1, 1)), np.tile(B, (count, 1, 1)))
    solution = solve_riccati(steps, Q_root, R_root, np.zeros((n, n)))
    P = solve_discrete_are(A, B, Q_root.T @ Q_root, R_root.T @ R_root)
    assert_allclose(solution.factors[0].T @ solution.factors[0], P, rtol=1e-9)
    K = np.linalg.solve(R_root.T @ R_root + B.T @ P @ B, B.T @ P @ A)
    assert_allclose(solution.gains[0], K, rtol=1e-8, atol=1e-10)


def test_gains_minimise_the_cost():
    # any change of the whole control sequence costs more
    rng = np.random.default_rng(2)
    n, m, count = 4, 2, 30
    A, B = rng.normal(size=(count, n, n)) * 0.5, rng.normal(size=(count, n, m))
    roots = np.diag(rng.uniform(0.1, 1, n)), np.diag(rng.uniform(0.1, 1, m)), 3 * np.eye(n)
    gains = solve_riccati(LinearSteps(A, B), *roots).gains
    start = rng.normal(size=n)

    def cost(change):
        x, total = start, 0.0
        for k in range(count):
            u = -gains[k] @ x + change[k]
            total += np.sum((roots[0] @ x) ** 2) + np.sum((roots[1] @ u) ** 2)
            x = A[k] @ x + B[k] @ u
        return total + np.sum((roots[2] @ x) ** 2)

    best = cost(np.zeros((count, m)))
    L = solve_riccati(LinearSteps(A, B), *roots).factors[0]
    assert_allclose(best, np.sum((L @ start) ** 2), rtol=1e-12)
    for _ in range(20):
        assert cost(1e-3 * rng.normal(size=(count, m))) > best


def test_stiff_weights_stay_symmetric_and_positive():
    n, count = 6, 5000
    A = np.eye(n) + 1e-3 * np.diag(np.ones(n - 1), 1)
    B = np.zeros((n, 1))
    B[-1] = 1e-3
    steps = LinearSteps(np.tile(A, (count, 1, 1)), np.tile(B, (count, 1, 1)))
    solution = solve_riccati(
        steps, np.diag(np.logspace(-6, 0, n)), np.array([[1e-5]]), np.diag(np.logspace(6, 0, n))
    )
    assert np.all(np.isfinite(solution.gains))
    for L in solution.factors[::500]:
        assert np.linalg.eigvalsh(L.T @ L).min() >= -1e-9 * np.linalg.norm(L) ** 2


def test_gramian_of_a_double_integrator():
    # W of (position, velocity) over T, 1 N on 1 kg: [[T^3/3, T^2/2], [T^2/2, T]]
    h, count = 1e-3, 1000
    A, B = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h / 2], [h]])
    steps = LinearSteps(np.tile(A, (count, 1, 1)), np.tile(B, (count, 1, 1)))
    W = Reach.of(steps).gramian / h
    assert_allclose(W, [[1 / 3, 1 / 2], [1 / 2, 1.0]], rtol=2e-3)
