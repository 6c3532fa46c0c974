"""The path on the plane keeps its direction, whatever the inputs do."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere

R = 0.4
X = [0, 0, 1, 0, 0, 0]


def direction_of(variant, u):
    system = SpinRollingSphere(inputs='direction', variant=variant)
    velocity = np.array(system.mode.dynamics(X, u, 0.0, [R])).ravel()[:2]
    return np.arctan2(velocity[1], velocity[0]), np.hypot(*velocity)


def apart(a, b):
    return abs(np.angle(np.exp(1j * (a - b))))


def test_corrected_law_holds_for_every_direction_and_every_input():
    rng = np.random.default_rng(0)
    for G in np.linspace(-np.pi, np.pi, 73):
        u = np.r_[rng.normal(size=3) * 5, G]
        found, speed = direction_of('corrected', u)
        assert apart(found, G) < 1e-12
        assert speed == pytest.approx(np.hypot(R * u[1], 1 - R * u[2]))


def test_path_stays_straight_while_all_three_inputs_vary():
    system = SpinRollingSphere(inputs='direction')

    def u(s):
        return np.array([4 * np.sin(3 * s), 3 * np.cos(5 * s), 2 * np.sin(2 * s), 0.9])

    run = simulate(system, [R], X, u, 3.0, t_eval=np.linspace(0, 3, 61))
    points = run.states[1:, :2]
    assert np.max(np.abs(points @ [-np.sin(0.9), np.cos(0.9)])) < 1e-12
    assert np.ptp(run.states[:, 3]) > 0.1  # while the sphere turns in earnest


@pytest.mark.slow
def test_published_law_keeps_the_line_but_not_always_the_direction():
    """Eq. (15): right for beta < 0, backwards for beta > 0, and shifted in the wrong place."""
    gamma = 0.2
    for beta, offset in ((-0.3, 0.0), (0.3, np.pi)):
        k = 1 / R - gamma
        border = np.arctan(k / (k + beta))  # where the inverse cotangent jumps, not pi/4
        low, high = sorted((border, np.pi / 4))
        for G in np.linspace(-3.1, 3.1, 200):
            found, _ = direction_of('as_published', [0.5, beta, gamma, G])
            line = min(apart(found, G), apart(found, G + np.pi))
            assert line < 1e-10
            between = low < G < high or low < G + np.pi < high
            assert apart(found, G + offset + np.pi * between) < 1e-10
        assert high - low > 0.04


def test_published_law_is_not_that_of_the_corrected_model():
    u = [0.0, -0.3, 0.2, 0.3]
    assert direction_of('as_published', u)[1] != pytest.approx(direction_of('corrected', u)[1])


def test_spin_in_place_has_no_direction():
    assert direction_of('corrected', [0.5, 0.0, 1 / R, 0.3])[1] < 1e-15
    assert direction_of('corrected', [0.5, 1e-6, 1 / R, 0.3])[1] == pytest.approx(1e-6 * R)


def test_appendix_d_a_prescribed_direction_leaves_two_inputs():
    """Eq. (80): w_x = -w_y tan G_f; the directions +-pi/2 are lost, and one input."""
    system = SpinRollingSphere(representation='coordinates')
    x, rng = [0, 0, 0.3, 0.4, 0.5], np.random.default_rng(2)
    for G in rng.uniform(-1.5, 1.5, 10):
        matrix = np.column_stack(
            [
                np.array(system.mode.dynamics(x, w, 0.0, [R])).ravel()
                for w in ([-np.tan(G), 1, 0], [0, 0, 1])
            ]
        )
        assert np.linalg.matrix_rank(matrix) == 2
        assert matrix[1, 0] / matrix[0, 0] == pytest.approx(np.tan(G))
        free = np.column_stack(
            [np.array(system.mode.dynamics(x, w, 0.0, [R])).ravel() for w in np.eye(3)]
        )
        assert np.linalg.matrix_rank(free) == 3


def test_the_five_inputs_act_through_three_angular_velocities_only():
    """The limitation of Appendix D is not lifted: alpha, beta, gamma, G_f, delta span rank 3."""
    system = SpinRollingSphere(inputs='direction', independent_variable='time')
    x, u, _, p = system.symbols
    J = ca.Function('J', [x, u, p], [ca.jacobian(system.angular_velocity, u)])
    dynamics = ca.Function('D', [x, u, p], [ca.jacobian(system.mode.dynamics(x, u, 0, p), u)])
    rng = np.random.default_rng(3)
    for _ in range(20):
        value = rng.normal(size=5)
        at = np.r_[rng.normal(size=2), [0.8, 0.1, -0.3, 0.5]]
        assert np.linalg.matrix_rank(np.array(J(at, value, [R])), tol=1e-9) == 3
        assert np.linalg.matrix_rank(np.array(dynamics(at, value, [R])), tol=1e-9) == 3
