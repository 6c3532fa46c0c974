"""Contacts that close loops: the bicycle of the benchmark, and a ball between two plates."""

from pathlib import Path
import sys

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import check_system
from rolling_dynamics.testing.check_system import CHECKS as EVERY

sys.path.insert(0, str(Path(__file__).parents[2] / 'examples' / 'machines'))
from ball_between_plates import at_rest, ball_between_plates
from bicycle import bicycle, upright

CHECKS = {name: EVERY[name] for name in ('newton-euler', 'invariants')}
# Meijaard et al. 2007, Eq. (6.1) ff.: the coefficients of the benchmark to 14 digits
MASS = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
DAMPING = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
STIFFNESS = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
CENTRIFUGAL = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])


@pytest.fixture(scope='module')
def system():
    return bicycle()


def published(speed):
    """Return the four eigenvalues of the printed equations."""
    inverse = np.linalg.inv(MASS)
    K = 9.81 * STIFFNESS + speed**2 * CENTRIFUGAL
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ DAMPING * speed]])
    return np.linalg.eigvals(A)


def linearised(system):
    """
    Return (x, u, p) -> matrix and constraints over what is not ignorable.

    Position along the floor and angles of the wheels are left out: the motion does not depend on
    them. The attitude of the frame stands still in riding straight on.
    """
    x, d = system.symbols.x, ca.SX.sym('d', system.tangent.size)
    moved = system.retract(x, d)
    xdot = system.modes['rolling'].dynamics(moved, 0, 0, [])
    rates = [xdot[2], moved[system.state.slice('w_WB_B')], xdot[system.state.slice('steer')]]
    rates += [xdot[system.state.slice(e)] for e in SPEEDS]
    kept = [2, 3, 4, 5, system.tangent.slice('steer').start]
    kept += [k for e in SPEEDS for k in range(*system.tangent.slice(e).indices(99))]
    rows = [r.gap for r in system._closures] + [r.velocity for r in system._closures]
    rows = ca.substitute(ca.vertcat(*rows), x, moved)
    both = [ca.jacobian(ca.vertcat(*rates), d)[:, kept], ca.jacobian(rows, d)[:, kept]]
    at = [ca.densify(ca.substitute(J, d, 0 * d)) for J in both]
    return ca.Function('linearised', [x], at)


SPEEDS = ('v_WB_W', 'w_WB_B', 'rear_rate', 'steer_rate', 'front_rate')


@pytest.mark.parametrize('speed', range(11))
def test_eigenvalues_of_the_benchmark(system, speed):
    """Lean and steer, beside the zeros of heading and speed."""
    A, C = (np.array(J) for J in linearised(system)(upright(system, float(speed))))
    free = np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    assert free.shape[1] == 6
    found = np.linalg.eigvals(free.T @ A @ free)
    found = sorted(found, key=abs)[2:]
    expected = published(speed)
    for value in expected:
        assert np.abs(found - value).min() < 1e-11 * max(1, abs(value))


def test_printed_eigenvalues_at_five_metres_a_second(system):
    """Table 2 of the benchmark; weave, capsize and castering."""
    A, C = (np.array(J) for J in linearised(system)(upright(system, 5.0)))
    free = np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    found = np.linalg.eigvals(free.T @ A @ free)
    printed = (
        -0.775341882195845 + 4.464867713788230j,
        -0.322866429004092,
        -14.078389692798220,
    )
    for value in printed:
        assert np.abs(found - value).min() < 1e-12 * max(1, abs(value))


def pushed(system):
    x = upright(system, 5.0)
    x[system.state.slice('w_WB_B')] = [0.3, 0, 0]
    return np.array(system.projection(x, [])).ravel()


def test_the_bicycle_stays_on_both_wheels_and_keeps_its_energy(system):
    run = simulate(
        system,
        np.zeros(0),
        pushed(system),
        np.zeros(1),
        5.0,
        rtol=1e-12,
        atol=1e-13,
        t_eval=np.linspace(0, 5, 51),
    )
    rows = ca.vertcat(*(r.velocity for r in system._closures))
    gaps = ca.vertcat(*(r.gap for r in system._closures))
    seen = ca.Function('rows', [system.symbols.x], [rows, gaps])
    for x in run.states:
        velocity, gap = (np.array(v) for v in seen(x))
        assert np.abs(gap).max() < 1e-10
        assert np.abs(velocity).max() < 1e-12 * 5.0
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-9 * energy.max()
    assert np.ptp(run.states[:, system.state.slice('steer')]) > 0.05


def test_the_floor_carries_what_the_motion_needs(system):
    outcomes = check_system(system, np.zeros(0), pushed(system), checks=CHECKS)
    assert [o.verdict for o in outcomes] == ['passed', 'passed']


def test_wheels_at_rest_carry_the_weight_by_the_lever(system):
    """The moment about the rear contact gives the front wheel its load."""
    x = upright(system, 0.0)
    front = float(system.modes['rolling'].guards['normal_force_front'](x, 0, 0, []))
    rear = float(system.modes['rolling'].guards['normal_force_rear'](x, 0, 0, []))
    total, lever = 94.0, 85 * 0.3 + 4 * 0.9 + 3 * 1.02
    assert front == pytest.approx(9.81 * lever / 1.02, rel=1e-12)
    assert front + rear == pytest.approx(9.81 * total, rel=1e-12)


def test_a_wheel_in_the_air_or_slipping_is_rejected_by_name(system):
    x = upright(system, 2.0)
    system.check_state([], x)
    lifted = x.copy()
    lifted[2] += 0.01
    with pytest.raises(
        ParameterError, match=r"contact of 'rear' on 'the ground' has a gap of 0\.01"
    ):
        system.check_state([], lifted)
    x[system.state.slice('front_rate')] = 0.0
    with pytest.raises(ParameterError, match=r"contact of 'front' .* slips at 2 m/s"):
        system.check_state([], x)


@pytest.fixture(scope='module')
def plates():
    return ball_between_plates()


def test_a_ball_between_plates_moves_at_their_mean(plates):
    """By hand: a = (a1 + a2) / 2, r dw/dt = e3 x (a2 - a1) / 2, and forces that make them."""
    rng = np.random.default_rng(3)
    r, m, squeeze = 0.05, 0.5, 5.0
    p = plates.parameters.pack(radius=r, mass=m, squeeze=squeeze, mu=0.8)
    x = at_rest(plates, r)
    for _ in range(10):
        a1, a2 = (np.append(rng.normal(size=2), 0.0) for _ in range(2))
        still = np.zeros(3)
        u = plates.control.pack(a_lower=a1, alpha_lower=still, a_upper=a2, alpha_upper=still)
        rate = plates.state.unpack(np.array(plates.modes['rolling'].dynamics(x, u, 0, p)).T[0])
        spin = np.cross([0, 0, 1], a2 - a1) / (2 * r)
        np.testing.assert_allclose(rate['w_WS_W'], spin, atol=1e-10)
        # f1 + f2 = m a and r e3 x (f2 - f1) = 0.4 m r^2 dw/dt, along the plates
        f1 = m * ((a1 + a2) / 2 - 0.4 * (a2 - a1) / 2) / 2
        f2 = m * (a1 + a2) / 2 - f1
        lower = plates.contacts['ball'].wrench[3:]
        upper = plates.contacts['ball_upper']
        forces = plates.function('f', ca.vertcat(lower, upper.R_WP @ upper.wrench[3:]))
        found = np.array(forces(x, u, 0, p)).ravel()
        np.testing.assert_allclose(found[:3], [*f1[:2], m * 9.81 + squeeze], atol=1e-10)
        np.testing.assert_allclose(found[3:], [*f2[:2], -squeeze], atol=1e-10)


def test_a_ball_between_plates_that_turn_and_tilt_obeys_newton_and_euler(plates):
    r = 0.05
    p = plates.parameters.pack(radius=r, mass=0.5, squeeze=5.0, mu=0.8)
    x = at_rest(plates, r)
    x[plates.state.slice('v_upper')] = [0.3, -0.2, 0]
    x[plates.state.slice('w_lower')] = [0, 0, 0.7]
    x = np.array(plates.projection(x, p)).ravel()
    checks = {'newton-euler': EVERY['newton-euler']}
    outcomes = check_system(plates, p, x, checks=checks)
    assert [o.verdict for o in outcomes] == ['passed']
