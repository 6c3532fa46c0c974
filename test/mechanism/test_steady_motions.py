"""Linearisation along steady motions: circles, spinning, and what is not steady."""

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.equilibrium import linear_model, steady_motion
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import Machine, MachineSystem, Revolution, Rolling, Wheel

R, M, G = 0.1, 0.5, 9.81
A, C = M * R**2 / 4, M * R**2 / 2  # of a thin disk, across and along its axis


@pytest.fixture(scope='module')
def coin():
    out = Machine('coin')
    joint = Rolling(
        shape=Wheel(ca.SX(R)),
        contact=vector_entry('contact', 'm', 'W', suffixes='xy'),
        attitude=quaternion_entry('q_WA'),
        speed=vector_entry('w_WA', 'rad/s', 'A'),
        axes='body',
    )
    out.body('A', joint, Revolution(ca.SX(M), ca.SX(A), C - A, axis=ca.DM([0, 1, 0])))
    return MachineSystem(out)


def rates_of(system, x):
    """Return the eigenvalues that do not vanish, for a state without control and parameters."""
    values = np.linalg.eigvals(linear_model(system, [], x, []).A)
    return in_order(values[np.abs(values) > 1e-4])


def in_order(values):
    return np.array(sorted(values, key=lambda v: (np.round(v.real, 5), v.imag)))


def circling(turn, lean=0.3):
    """Return the state of a disk that circles, which leans inward by an angle [rad]."""
    c, s = np.cos(lean), np.sin(lean)
    spin = (A * turn**2 * s * c - M * G * R * s) / ((C + M * R**2) * turn * c)
    return [np.cos(lean / 2), np.sin(lean / 2), 0, 0], [0, spin, turn * c]


def falling(z):
    """
    Return the rates of lean, lean's rate, spin and n = turn cos(lean) of a rolling disk.

    In axes that only precess, x along the way and y the axis of the disk: the momentum (A a, C s,
    A n) about the centre, by the torque of the contact force m (acceleration - g).
    """
    lean, a, s, n = z[0], z[1], z[2], z[3]
    rates = ca.SX.sym('rates', 3)
    axes = ca.vertcat(a, n * ca.tan(lean), n)
    velocity, H = ca.vertcat(s * R, -a * R, 0), ca.vertcat(A * a, C * s, A * n)
    turned = ca.vertcat(A * rates[0], C * rates[1], A * rates[2])
    gravity = -G * ca.vertcat(0, ca.sin(lean), ca.cos(lean))
    faster = ca.vertcat(rates[1] * R, -rates[0] * R, 0)
    force = M * (faster + ca.cross(axes, velocity) - gravity)
    left = turned + ca.cross(axes, H) - ca.cross(ca.vertcat(0, 0, -R), force)
    zero = ca.substitute(left, rates, 0)
    return ca.vertcat(a, -ca.solve(ca.jacobian(left, rates), zero))


@pytest.mark.parametrize('turn', [4.0, -9.0, 25.0])
def test_a_circling_disk_wobbles_as_a_second_derivation_has_it(coin, turn):
    q, w = circling(turn)
    x = coin.state.pack(q_WA=q, w_WA=w)
    z = ca.SX.sym('z', 4)
    slope = ca.Function('slope', [z], [falling(z), ca.jacobian(falling(z), z)])
    rates, J = (np.array(out) for out in slope([0.3, *w]))
    np.testing.assert_allclose(rates, 0, atol=1e-9)
    wobble = np.linalg.eigvals(J)
    wobble = wobble[np.abs(wobble) > 1e-4]
    assert len(wobble) == 2
    # seen from axes that turn, the place of the circle goes round
    expected = [*wobble, turn * 1j, -turn * 1j]
    np.testing.assert_allclose(rates_of(coin, x), in_order(expected), atol=1e-7)


@pytest.mark.parametrize('turn', [5.0, 12.0])
def test_an_upright_spinning_disk_falls_below_the_known_rate(coin, turn):
    """It leans as lean'' = (m g r - (A + m r^2) turn^2) lean / (A + m r^2)  (Routh 1905)."""
    x = coin.state.pack(q_WA=[1, 0, 0, 0], w_WA=[0, 0, turn])
    lean = np.emath.sqrt(M * G * R / (A + M * R**2) - turn**2)
    expected = [lean, -lean, turn * 1j, -turn * 1j]
    np.testing.assert_allclose(rates_of(coin, x), in_order(expected), atol=1e-7)


@pytest.mark.parametrize('speed', [0.4, 0.9])
def test_a_disk_that_rolls_straight_falls_below_the_known_speed(coin, speed):
    """
    A rolling disk is upright while its rate exceeds the critical one (Neimark & Fufaev 1972).

    Lean and heading obey (A + m r^2) lean'' = m g r lean - (C + m r^2) spin heading' and
    A heading' = C spin lean.
    """
    spin = speed / R
    x = coin.state.pack(q_WA=[1, 0, 0, 0], w_WA=[0, spin, 0])
    squared = (M * G * R - (C + M * R**2) * C * spin**2 / A) / (A + M * R**2)
    expected = np.emath.sqrt(squared)
    found = rates_of(coin, x)
    np.testing.assert_allclose(found, in_order([expected, -expected]), atol=1e-6)


def test_what_does_not_move_as_one_has_no_linearisation(coin):
    q, w = circling(4.0)
    x = coin.state.pack(q_WA=q, w_WA=w)
    motion = steady_motion(coin, [], x, [])
    np.testing.assert_allclose(motion[2], 4.0, atol=1e-9)
    np.testing.assert_allclose(motion[3:], [0, w[1] - 4.0 * np.sin(0.3), 0], atol=1e-9)
    x = coin.state.pack(q_WA=q, w_WA=[0, w[1], 1.01 * w[2]])
    with pytest.raises(ParameterError, match=r'no equilibrium: the rate of .* steady motion'):
        linear_model(coin, [], x, [])
    # about an axis across its own, which is no symmetry of the disk, it does not go on steadily
    x = coin.state.pack(q_WA=q, w_WA=[5.0, 0, 0])
    with pytest.raises(ParameterError, match='no equilibrium'):
        steady_motion(coin, [], x, [])
