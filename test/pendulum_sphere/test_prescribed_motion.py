"""Prescribed motion and constant acceleration, against the full model and the printed numbers."""

from dataclasses import replace

import casadi as ca
from evidence.papers.ivanova_pivovarova import (
    angular_acceleration,
    first_integral,
    fixed_points,
    motion_from_rest,
    torque,
)
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters, scales_of
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
from rolling_dynamics.simulation import simulate

SI = paper_parameters()
PAPER = scales_of(SI).parameters_to_dimensionless(SI)
SYSTEM = PendulumSphere()
LAYOUT = SYSTEM.state


def test_fixed_points_are_the_printed_ones():
    center, saddle = fixed_points(PAPER, 0.1)
    assert (center.kind, saddle.kind) == ('center', 'saddle')
    assert round(center.theta, 2) == 0.38
    assert round(saddle.theta, 2) == 2.56


def test_fixed_points_where_the_pendulum_stays():
    for a0 in (-0.2, 0.05, 0.15):
        for point in fixed_points(PAPER, a0):
            assert angular_acceleration(PAPER, a0, point.theta, 0.0) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ParameterError, match='less than') as e:
        fixed_points(PAPER, 0.9)
    most = float(str(e.value).split('less than ')[1].split(' ')[0])
    fixed_points(PAPER, most * 0.9999)
    with pytest.raises(ParameterError):
        fixed_points(PAPER, most * 1.0001)


def test_first_integral_is_constant_and_not_trivially_so():
    theta, rate = motion_from_rest(PAPER, 0.1, np.linspace(0, 40, 200))
    C = first_integral(PAPER, 0.1, theta, rate)
    assert np.ptp(C) < 1e-10 * np.abs(C).max() + 1e-12
    assert np.ptp(first_integral(PAPER, 0.1, theta, 0 * rate)) > 5e-5


def wavy(t):
    return np.array([0.3 * np.cos(1.1 * t), 0.2 * np.sin(0.7 * t) + 0.1])


@pytest.mark.parametrize('slope', [pytest.param(0.0, marks=pytest.mark.slow), 0.05])
def test_torque_found_for_a_curved_path_makes_the_full_model_follow_it(slope):
    params = replace(SI.on_slope(slope, 0.4), rolling_resistance=5e-4)
    t = np.linspace(0, 3, 301)
    run = moved(params, wavy, t, SYSTEM.rolling_state(params, velocity=[0.2, 0.1]))
    path = np.array(
        [
            0.2 * t + 0.3 * (1 - np.cos(1.1 * t)) / 1.21,
            0.1 * t + 0.05 * t**2 + 0.2 / 0.7 * (t - np.sin(0.7 * t) / 0.7),
        ]
    ).T
    np.testing.assert_allclose(run.states[:, LAYOUT.slice('contact')], path, atol=1e-7)


def moved(params, acceleration, t, x0):
    """Return the motion of the full model under the torque for an acceleration of the path."""
    return simulate(
        SYSTEM,
        SYSTEM.pack_parameters(params),
        x0,
        lambda s, x: _torque(params, acceleration(s), x),
        t[-1],
        t_eval=t,
        rtol=1e-10,
        atol=1e-12,
        events={'normal_force': 'record', 'friction': 'record'},
    )


def _torque(params, a, x):
    return np.array(SYSTEM.prescribed_dynamics(x, a, SYSTEM.pack_parameters(params))[1]).ravel()


def test_constant_acceleration_is_a_case_of_prescribed_motion():
    a0, t = 0.1, np.linspace(0, 8, 81)
    states = moved(PAPER, lambda _: [a0, 0.0], t, SYSTEM.rolling_state(PAPER)).states
    theta, wanted_rate = motion_from_rest(PAPER, a0, t)
    rate = -states[:, LAYOUT.slice('w_WP_W')][:, 1]
    np.testing.assert_allclose(rate, wanted_rate, atol=1e-7)
    wanted = torque(PAPER, a0, theta, wanted_rate)
    found = [-_torque(PAPER, [a0, 0.0], x)[1] for x in states]
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def matrix_F(params, n):
    """Return F of Eq. (6) for y = (domega, dn, Q), assembled as it stands."""
    e = np.array([0, 0, 1.0])
    c = params.coupling
    K, one, zero = n[2] * np.eye(3) - np.outer(n, e), np.eye(3), np.zeros((3, 3))
    nn, m, L = np.outer(n, n), params.pendulum_mass, params.pendulum_length
    D = params.pendulum_inertia * one + params.pendulum_excess * nn + m * L**2 * (one - nn)
    return np.block([[c * K, zero, one], [D, zero, -one], [zero, one, zero]])


def test_determinant_vanishes_where_the_errata_say_and_not_only_where_7_fails():
    assert SI.i0 > SI.coupling  # condition (7)
    short = replace(SI, pendulum_inertia=SI.pendulum_inertia / 3, pendulum_excess=0)
    assert short.i0 < short.coupling
    theta = np.arccos(short.i0 / short.coupling)
    for phi in (0.0, 2.0):

        def n_of(a, phi=phi):
            return np.array([np.sin(a) * np.cos(phi), np.sin(a) * np.sin(phi), -np.cos(a)])

        scale = np.linalg.det(matrix_F(short, n_of(2.0)))
        assert abs(np.linalg.det(matrix_F(short, n_of(theta))) / scale) < 1e-12
        hanging = np.linalg.det(matrix_F(short, n_of(0.0)))  # (7) fails, F does not
        assert abs(hanging / scale) > 1e-3
        for a in (0.3, 1.0, 2.5):
            axial = short.pendulum_inertia + short.pendulum_excess
            formula = axial * (short.i0 - short.coupling * np.cos(a)) ** 2
            assert abs(np.linalg.det(matrix_F(short, n_of(a)))) == pytest.approx(abs(formula))


def test_dynamics_are_differentiable_at_rest():
    x, u = ca.SX.sym('x', LAYOUT.size), ca.SX.sym('u', 3)
    p = SYSTEM.pack_parameters(SI)
    J = ca.Function('J', [x, u], [ca.jacobian(SYSTEM.mode.dynamics(x, u, 0, p), x)])
    assert np.all(np.isfinite(np.array(J(SYSTEM.rolling_state(SI), [0, 0, 0]))))
