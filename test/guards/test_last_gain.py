"""The regulator at the end of a plan: the last gain holds there, and beyond."""

from cart import Cart, P, plan_of
import numpy as np
import pytest
from rolling_controller import LqrWeights, TimeVaryingLqr
from rolling_controller.nominal import LinearSteps
from rolling_controller.riccati import Reach, solve_riccati

PLAN = plan_of([0.0, 0.5, 1.0], [0.5, 0.5, 0.5])


@pytest.fixture(scope='module')
def law():
    return TimeVaryingLqr(Cart(), P, PLAN, knot=0.01)


def by_hand(law, h):
    """Return the gains of the discrete regulator of a cart, by the textbook's recursion."""
    weights = LqrWeights().of(law.system)
    Q = np.diag(weights.tracking_diagonal(law.system.tangent)) * h
    R = np.diag(weights.control_diagonal(law.system.control)) * h
    S = np.diag(weights.terminal_diagonal(law.system.tangent))
    A, B = np.array([[1.0, h], [0.0, 1.0]]), np.array([[h * h / 2], [h]])
    gains = []
    for _ in range(len(law.times) - 1):
        K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
        S = Q + A.T @ S @ (A - B @ K)
        gains.append(K)
    return np.array(gains[::-1])


def test_gains_are_those_of_the_textbook(law):
    wanted = by_hand(law, law.times[1] - law.times[0])
    assert law.gains[:-1] == pytest.approx(wanted, rel=1e-6)
    assert law.gains[-1] == pytest.approx(wanted[-1], rel=1e-6)


@pytest.mark.parametrize('t', [0.9999, 1.0, 1.5])
def test_an_error_at_the_end_is_answered_by_the_last_gain(law, t):
    x, u = law.nominal(t)
    error = np.array([0.01, -0.02])
    wanted = u - law.gains[-2] @ error
    assert law.step(None, x + error, t)[1] == pytest.approx(wanted, rel=1e-5)
    assert abs(wanted - u) > 1e-3


@pytest.mark.parametrize(('t', 'k'), [(-0.5, 0), (1.0, -1), (1.003, -1), (2.0, -1)])
def test_before_and_beyond_the_plan_its_ends_are_held(law, t, k):
    """What is nominal there is no extrapolation: a cart at speed would be elsewhere."""
    x, u = law.nominal(t)
    assert x == pytest.approx(law.states[k], abs=1e-12)
    assert u == pytest.approx(law.controls[k], abs=1e-12)
    assert law.step(None, law.states[k], t)[1] == pytest.approx(law.controls[k], abs=1e-9)
    assert law.record(t)[:2] == pytest.approx(law.states[k], abs=1e-12)
    assert abs(law.states[-1] - law.states[-2]).max() > 1e-3


def test_the_last_control_stays_within_its_limits():
    law = TimeVaryingLqr(Cart(), P, PLAN, knot=0.01, control_limits=0.75)
    x, far = law.nominal(1.0)[0], np.array([100.0, 0.0])
    assert law.step(None, x + far, 1.0)[1].tolist() == [-0.75]
    assert law.step(None, x - far, 1.0)[1].tolist() == [0.75]


def test_the_recursion_has_a_gain_for_each_step():
    A, B = np.array([[[1.0]], [[2.0]]]), np.array([[[1.0]], [[1.0]]])
    found = solve_riccati(LinearSteps(A, B), np.eye(1), np.eye(1), np.eye(1))
    # P2 = 1; K1 = 2/2, P1 = 1 + 4 - 2; K0 = 3/4, P0 = 1 + 3 - 9/4
    assert found.gains.ravel() == pytest.approx([0.75, 1.0])
    assert (found.factors.ravel() ** 2) == pytest.approx([1.75, 3.0, 1.0])


def random_steps(count, n, m):
    rng = np.random.default_rng(3)
    return LinearSteps(rng.normal(size=(count, n, n)), rng.normal(size=(count, n, m)))


def test_the_recursion_is_that_of_the_textbook_for_any_weights():
    steps, rng = random_steps(4, 3, 2), np.random.default_rng(4)
    Q_root, R_root = rng.normal(size=(3, 3)), rng.normal(size=(2, 2)) + 3 * np.eye(2)
    end_root = rng.normal(size=(3, 3))
    found = solve_riccati(steps, Q_root, R_root, end_root)
    S = end_root.T @ end_root
    assert found.gains.shape == (4, 2, 3)
    assert found.factors.shape == (5, 3, 3)
    for k in reversed(range(4)):
        assert found.factors[k + 1].T @ found.factors[k + 1] == pytest.approx(S, rel=1e-9)
        A, B = steps.A[k], steps.B[k]
        K = np.linalg.solve(R_root.T @ R_root + B.T @ S @ B, B.T @ S @ A)
        S = Q_root.T @ Q_root + A.T @ S @ (A - B @ K)
        assert found.gains[k] == pytest.approx(K, rel=1e-9)
    assert found.factors[0].T @ found.factors[0] == pytest.approx(S, rel=1e-9)


def test_what_steps_reach_is_the_sum_over_them_in_one_go_or_in_two():
    steps = random_steps(5, 3, 2)
    Phi, W = np.eye(3), np.zeros((3, 3))
    for A, B in reversed(list(zip(steps.A, steps.B, strict=True))):
        W, Phi = W + Phi @ B @ B.T @ Phi.T, Phi @ A
    earlier, later = (
        Reach.of(LinearSteps(steps.A[part], steps.B[part])) for part in (slice(2), slice(2, None))
    )
    for reach in (Reach.of(steps), later.after(earlier)):
        assert reach.transition == pytest.approx(Phi, rel=1e-9)
        assert reach.gramian == pytest.approx(W, rel=1e-9)
