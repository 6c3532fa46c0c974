"""Objects between compliant fingertips, and a ball in a groove, as scenarios describe them."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import Contact, Cylinder, Sphere
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.testing import check_system
from rolling_dynamics.testing.check_system import CHECKS
from scipy.special import ellipj, ellipk

G = 9.81


def run_of(scenario, **options):
    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        scenario.control,
        scenario.duration,
        rtol=1e-11,
        atol=1e-12,
        **options,
    )


def turning(scenario, x, t):
    """Return the rates of the cylinder's angular velocity at a state and a time."""
    system, p = scenario.system, scenario.p
    y = np.array(system.projection(x, p)).ravel()
    xdot = system.mode.dynamics(y, scenario.control(t, y), t, p)
    return np.array(xdot).ravel()[system.state.slice('w_cylinder')]


def test_three_fingertips_turn_a_cylinder_by_rolling_round_it():
    """
    A ball that does not turn rolls by its arc a theta; the cylinder follows by b (phi - theta).

    So phi = (1 + a / b) theta, b the lever to the surface of the tip, which sinks in by 2 mm.
    """
    scenario = load_scenario('three_fingertips')
    t = np.linspace(0.0, 2.0, 11)
    run = run_of(scenario, t_eval=t)
    state = [scenario.system.state.unpack(x) for x in run.states]
    turned = [2 * math.atan2(s['q_cylinder'][3], s['q_cylinder'][0]) for s in state]
    assert turned == pytest.approx((1 + 0.015 / 0.038) * 0.2 * t**2, abs=1e-9)
    lifted = 0.05 / math.pi * (t - np.sin(math.pi * t) / math.pi)
    for s, z in zip(state, lifted, strict=True):
        assert s['p_cylinder'] == pytest.approx([0, 0, z], abs=1e-9)
    for x, now in zip(run.states, t, strict=True):
        expected = [0, 0, 0.4 * (1 + 0.015 / 0.038)]
        assert turning(scenario, x, now) == pytest.approx(expected, abs=1e-10)
    # each tip presses with its stiffness, and all three carry the weight
    system, u = scenario.system, scenario.control(2.0, run.states[-1])
    for k in (1, 2, 3):
        at = system.function('f', system.contacts[f'tip_{k}'].wrench[3:])
        force = np.array(at(run.states[-1], u, 2.0, scenario.p)).ravel()
        assert force[2] == pytest.approx(2000 * 0.002, abs=1e-6)
        assert np.linalg.norm(force[:2]) < 0.8 * force[2]


def test_the_fingers_carry_what_the_motion_of_a_cylinder_needs():
    scenario = load_scenario('three_fingertips')
    x = scenario.x0.copy()
    for k, v in enumerate(([0.01, 0.02, 0.03], [-0.02, 0.01, 0.02], [0.0, 0.01, -0.02]), 1):
        x[scenario.system.state.slice(f'v_tip_{k}')] = v
    x = np.array(scenario.system.projection(x, scenario.p)).ravel()
    checks = {'newton-euler': CHECKS['newton-euler']}
    outcomes = check_system(scenario.system, scenario.p, x, checks=checks)
    assert [o.verdict for o in outcomes] == ['passed']


def test_a_cylinder_between_two_fingertips_swings_as_a_pendulum():
    """Its angle is 2 asin(k sn(K - w t)), of a pendulum of any height of swing."""
    scenario = load_scenario('two_fingertips')
    t = np.linspace(0.0, 2.0, 41)
    run = run_of(scenario, t_eval=t)
    across = 0.04**2 / 4 + 0.12**2 / 12 + 0.03**2  # about the contacts, by the mass
    rate, k = math.sqrt(G * 0.03 / across), math.sin(0.4)
    expected = 2 * np.arcsin(k * ellipj(ellipk(k**2) - rate * t, k**2)[0])
    where = scenario.system.state.slice('q_cylinder')
    angle = [2 * math.atan2(q[2], q[0]) for q in run.states[:, where]]
    assert min(expected) < -0.79
    assert angle == pytest.approx(expected, abs=1e-8)
    for x, now, a in zip(run.states, t, angle, strict=True):
        expected = [0, -(rate**2) * math.sin(a), 0]
        assert turning(scenario, x, now) == pytest.approx(expected, abs=1e-10)
    assert np.ptp(run.evaluate(lambda s: s.invariants['energy'])[:, 0]) < 1e-9
    place = run.states[:, scenario.system.state.slice('p_cylinder')]
    assert np.abs(place).max() < 1e-10


def test_a_ball_in_a_groove_goes_down_as_its_contacts_are_near_to_its_axis():
    scenario = load_scenario('ball_in_groove')
    run = run_of(scenario)
    ratio = 1 / math.cos(0.9)  # of its radius to the distance of the contacts from its axis
    fall = G * math.sin(0.2) / (1 + 2 / 5 * ratio**2)
    last = scenario.system.state.unpack(run.states[-1])
    assert last['p_ball'] == pytest.approx([fall / 2, 0, 0.05 * ratio], abs=1e-9)
    assert last['w_ball'] == pytest.approx([0, fall * ratio / 0.05, 0], abs=1e-7)


def test_a_cylinder_does_not_roll_itself():
    """It would touch along a line."""
    machine = load_scenario('two_fingertips').system.machine
    with pytest.raises(ParameterError, match='a Cylinder does not roll on a Plane'):
        machine.contact(Contact(body='cylinder', shape=Cylinder(0.04)))
    with pytest.raises(ParameterError, match='a Cylinder does not roll on a Sphere'):
        machine.contact(Contact(body='cylinder', shape=Cylinder(0.04), surface=Sphere(0.1)))
