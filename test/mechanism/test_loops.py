"""Contacts that close loops: the bicycle of the benchmark, and a ball between two plates."""

import copy

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import check_system
from rolling_dynamics.testing.check_system import CHECKS as EVERY

CHECKS = {name: EVERY[name] for name in ('newton-euler', 'invariants')}
# Meijaard et al. 2007, Table 2: weave, capsize and castering at 1 to 10 m/s, as printed
EIGENVALUES = {
    1: (3.52696170990070 + 0.80774027519930j, -3.13423125066578, -7.11008014637442),
    2: (2.68234517512745 + 1.68066296590675j, -3.07158645641514, -8.67387984831735),
    3: (1.70675605663975 + 2.31582447384325j, -2.63366137253667, -10.35101467245920),
    4: (0.41325331521125 + 3.07910818603206j, -1.42944427361326, -12.15861426576450),
    5: (-0.77534188219585 + 4.46486771378823j, -0.32286642900409, -14.07838969279820),
    6: (-1.52644486584142 + 5.87673060598709j, -0.00406690076970, -16.08537123098030),
    7: (-2.13875644258362 + 7.19525913329805j, 0.10268170574766, -18.15788466125262),
    8: (-2.69348683581097 + 8.46037971396931j, 0.14327879765713, -20.27940894394569),
    9: (-3.21675402252485 + 9.69377351531791j, 0.15790184030917, -22.43788559040858),
    10: (-3.72016840437287 + 10.90681139476287j, 0.16105338653172, -24.62459635017404),
}
STANDING = 3.13164324790656, 5.53094371765393  # 0 m/s, both signs
WEAVE_SPEED, CAPSIZE_SPEED = 4.29238253634111, 6.02426201538837  # m/s: an eigenvalue crosses


BICYCLE = load_scenario('bicycle')
P = BICYCLE.p


@pytest.fixture(scope='module')
def system():
    return BICYCLE.system


def upright(system, speed):
    """Return the state of the bicycle that rides straight on, at a speed [m/s]."""
    rates = {'rear_rate': speed / 0.3, 'front_rate': speed / 0.35}
    return system.state.pack(p_frame=[0, 0, 0.3], v_frame=[speed, 0, 0], **rates)


def linearised(system):
    """
    Return (x, u, p) -> matrix and constraints over what is not ignorable.

    Position along the floor and angles of the wheels are left out: the motion does not depend on
    them. The attitude of the frame stands still in riding straight on.
    """
    x, d = system.symbols.x, ca.SX.sym('d', system.tangent.size)
    moved = system.retract(x, d)
    xdot = system.modes['rolling'].dynamics(moved, 0, 0, P)
    rates = [xdot[2], moved[system.state.slice('w_frame')], xdot[system.state.slice('fork')]]
    rates += [xdot[system.state.slice(e)] for e in SPEEDS]
    kept = [2, 3, 4, 5, system.tangent.slice('fork').start]
    kept += [k for e in SPEEDS for k in range(*system.tangent.slice(e).indices(99))]
    rows = [r.gap for r in system.closures] + [r.velocity for r in system.closures]
    rows = ca.substitute(ca.vertcat(*rows), x, moved)
    both = [ca.jacobian(ca.vertcat(*rates), d)[:, kept], ca.jacobian(rows, d)[:, kept]]
    at = [ca.densify(ca.substitute(J, d, 0 * d)) for J in both]
    at = ca.substitute(at, [system.symbols.p], [ca.SX(ca.DM(P))])
    return ca.Function('linearised', [x], at)


SPEEDS = ('v_frame', 'w_frame', 'rear_rate', 'fork_rate', 'front_rate')


def lean_and_steer(system, speed):
    """Return the eigenvalues beside the two zeros of heading and speed."""
    A, C = (np.array(J) for J in linearised(system)(upright(system, speed)))
    free = np.linalg.svd(C)[2][np.linalg.matrix_rank(C) :].T
    whole = free.T @ A @ free
    _, sizes, right = np.linalg.svd(whole)
    assert np.sum(sizes > 1e-10) == 4  # another heading, or speed, is another steady motion
    moving = right[:4].T
    return np.array(sorted(np.linalg.eigvals(moving.T @ whole @ moving), key=abs))


@pytest.mark.parametrize('speed', EIGENVALUES)
def test_eigenvalues_are_those_printed_in_the_benchmark(system, speed):
    found = lean_and_steer(system, float(speed))
    weave, *real = EIGENVALUES[speed]
    for value in (weave, weave.conjugate(), *real):
        assert np.abs(found - value).min() < 1e-12 * max(1, abs(value))


def test_eigenvalues_of_the_standing_bicycle_and_at_the_limits_of_stability(system):
    found = lean_and_steer(system, 0.0)
    for value in STANDING:
        for sign in (1, -1):
            assert np.abs(found - sign * value).min() < 1e-12 * value
    weave = [v for v in lean_and_steer(system, WEAVE_SPEED) if v.imag > 1]
    assert abs(weave[0].real) < 1e-12
    crossing = [
        min(lean_and_steer(system, CAPSIZE_SPEED + d).real, key=abs) for d in (-1e-9, 1e-9)
    ]
    assert crossing[0] < 0 < crossing[1]


def pushed(system):
    x = upright(system, 5.0)
    x[system.state.slice('w_frame')] = [0.3, 0, 0]
    return np.array(system.projection(x, P)).ravel()


def test_the_bicycle_stays_on_both_wheels_and_keeps_its_energy(system):
    run = simulate(
        system,
        P,
        pushed(system),
        np.zeros(1),
        5.0,
        rtol=1e-12,
        atol=1e-13,
        t_eval=np.linspace(0, 5, 51),
    )
    rows = ca.vertcat(*(r.velocity for r in system.closures))
    gaps = ca.vertcat(*(r.gap for r in system.closures))
    seen = ca.Function('rows', [system.symbols.x, system.symbols.p], [rows, gaps])
    for x in run.states:
        velocity, gap = (np.array(v) for v in seen(x, P))
        assert np.abs(gap).max() < 1e-10
        assert np.abs(velocity).max() < 1e-12 * 5.0
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-9 * energy.max()
    assert np.ptp(run.states[:, system.state.slice('fork')]) > 0.05


def test_the_floor_carries_what_the_motion_needs(system):
    outcomes = check_system(system, P, pushed(system), checks=CHECKS)
    assert [o.verdict for o in outcomes] == ['passed', 'passed']


def test_wheels_at_rest_carry_the_weight_by_the_lever(system):
    """The moment about the rear contact gives the front wheel its load."""
    x = upright(system, 0.0)
    front = float(system.modes['rolling'].guards['normal_force_front'](x, 0, 0, P))
    rear = float(system.modes['rolling'].guards['normal_force_rear'](x, 0, 0, P))
    total, lever = 94.0, 85 * 0.3 + 4 * 0.9 + 3 * 1.02
    assert front == pytest.approx(9.81 * lever / 1.02, rel=1e-12)
    assert front + rear == pytest.approx(9.81 * total, rel=1e-12)


def test_a_wheel_in_the_air_or_slipping_is_rejected_by_name(system):
    x = upright(system, 2.0)
    system.check_state(P, x)
    lifted = x.copy()
    lifted[2] += 0.01
    with pytest.raises(
        ParameterError, match=r"contact of 'rear' on 'the ground' has a gap of 0\.01"
    ):
        system.check_state(P, lifted)
    x[system.state.slice('front_rate')] = 0.0
    with pytest.raises(ParameterError, match=r"contact of 'front' .* slips at 2 m/s"):
        system.check_state(P, x)


def test_a_wheel_that_joints_hold_already_is_checked_and_simulated_alike():
    """A fork on the ground holds its wheel: the normal force is open, the rest rides on."""
    given = copy.deepcopy(BICYCLE.raw)
    fork = given['machine']['joints']['fork']
    del fork['parent']
    fork['place'] = [1.1, 0, 0]
    found = load_scenario(given)
    assert found.system.structure(found.p, found.x0).lines[-1] == 'internal force: +1 front_z'
    run = simulate(found.system, found.p, found.x0, np.zeros(1), 0.2, t_eval=[0.2])
    at = found.system.state.unpack(run.states[-1])
    assert (float(at['fork'][0]), float(at['front'][0])) == pytest.approx((0, 0), abs=1e-12)
    assert np.abs(np.array(found.system.gap_function(run.states[-1], found.p))).max() < 1e-10
    assert at['rear'][0] > 2


@pytest.fixture(scope='module')
def plates():
    return load_scenario('ball_between_plates').system


def at_rest(plates, radius):
    """Return the state at rest, the upper plate turned over and over the ball."""
    return plates.state.pack(p_upper=[0, 0, 2 * radius], q_upper=[0, 1, 0, 0])


def numbers(plates):
    values = {'ball_radius': 0.05, 'ball_mass': 0.5, 'ball_mu': 0.8, 'top_mu': 0.8}
    return plates.parameters.pack(**values, top_normal_force=5.0, gravity_z=-9.81)


def test_a_ball_between_plates_moves_at_their_mean(plates):
    """By hand: a = (a1 + a2) / 2, r dw/dt = e3 x (a2 - a1) / 2, and forces that make them."""
    rng = np.random.default_rng(3)
    r, m, squeeze = 0.05, 0.5, 5.0
    p = numbers(plates)
    x = at_rest(plates, r)
    for _ in range(10):
        a1, a2 = (np.append(rng.normal(size=2), 0.0) for _ in range(2))
        still = np.zeros(3)
        u = plates.control.pack(lower_v=a1, lower_w=still, upper_v=a2, upper_w=still)
        rate = plates.state.unpack(np.array(plates.modes['rolling'].dynamics(x, u, 0, p)).T[0])
        spin = np.cross([0, 0, 1], a2 - a1) / (2 * r)
        np.testing.assert_allclose(rate['w_ball'], spin, atol=1e-10)
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
    p = numbers(plates)
    x = at_rest(plates, r)
    x[plates.state.slice('v_upper')] = [0.3, -0.2, 0]
    x[plates.state.slice('w_lower')] = [0, 0, 0.7]
    x = np.array(plates.projection(x, p)).ravel()
    checks = {'newton-euler': EVERY['newton-euler']}
    outcomes = check_system(plates, p, x, checks=checks)
    assert [o.verdict for o in outcomes] == ['passed']


def test_contacts_are_described_by_rank_free_twists_and_internal_forces(system):
    found = system.structure(P, upright(system, 2.0))
    assert (len(found.rows), found.rank, found.free.shape[1]) == (6, 6, 3)
    assert found.lines[0].endswith('6 rows of rank 6; of 9 speeds 3 are free')
    J = np.array(system.row_function(upright(system, 2.0), P)[1])
    assert np.abs(J @ found.free).max() < 1e-12
    given = load_scenario('hamster_ball').raw
    contacts = {k: {'against': 'shell', 'surface': 'inside'} for k in ('left', 'right')}
    both = load_scenario({**given, 'machine': {**given['machine'], 'contacts': contacts}})
    found = both.system.structure(both.p, both.x0)
    assert (len(found.rows), found.rank) == (6, 5)
    assert found.lines[-1] == 'internal force: +1 left_shell_y, +1 right_shell_y' or (
        'internal force' in found.lines[-1]
    )
