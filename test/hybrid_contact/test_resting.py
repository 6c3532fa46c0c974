"""Dry rolling resistance on a hand: a body comes to rest where and when its lever arm says."""

import math

import numpy as np
import pytest
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.mechanism.transitions import CREEP
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.surfaces import Ellipsoid, Sphere

MASS, R, G, LEVER, MU = 0.2, 0.05, 9.81, 2e-3, 0.5
STILL = np.zeros(6)


def ball(slope=0.0, mu_spin=0.0, surface=None, lever=LEVER):
    system = HybridContactSystem(surface or Sphere(R), dry=True)
    gravity = [G * math.sin(slope), 0, -G * math.cos(slope)]
    p = system.pack_parameters(
        mass=MASS,
        inertia=0.4 * MASS * R**2,
        gravity_W=gravity,
        mu=MU,
        mu_spin=mu_spin,
        lever_arm=lever,
    )
    return system, p


def rolling(system, v=(0, 0), spin=0.0, height=R):
    w = [-v[1] / R, v[0] / R, spin]
    return system.state.pack(
        q_WH=[1, 0, 0, 0], q_HO=[1, 0, 0, 0], p_HO_H=[0, 0, height], w_HO_H=w, v_HO_H=[*v, 0],
        p_WH=np.zeros(3), w_WH_H=np.zeros(3), v_WH_H=np.zeros(3),
    )  # fmt: skip


def run(system, p, x, time):
    return simulate(system, p, x, None, time, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize('steps', [False, True])
@pytest.mark.parametrize('mu_spin', [0.0, 1e-3])
def test_a_ball_comes_to_rest_where_and_when_the_lever_arm_says(steps, mu_spin):
    """It slows by (5/7) g e/R (Johnson 1985), rests, and stays there."""
    (system, p), v = ball(mu_spin=mu_spin), np.array([0.3, 0.4])
    slows = 5 / 7 * G * LEVER / R
    stop, way = 0.5 / slows, 0.5**2 / (2 * slows)
    x = rolling(system, v)
    if steps:
        stepper = Stepper(system, p, through_modes=True)
        s, events = stepper.begin(x, STILL), []
        for _ in range(round(1.2 * stop / 1e-3)):
            s = stepper.step(s, STILL, 1e-3)
            events += s.events
        end = s.x
    else:
        motion = run(system, p, x, 1.2 * stop)
        end, events = motion.states[-1], motion.events
    assert [e.name for e in events] == ['rest']
    assert events[0].time == pytest.approx(stop - CREEP / LEVER * R / slows, rel=1e-7)
    last = system.state.unpack(end)
    np.testing.assert_allclose(last['p_HO_H'], [*way * v / 0.5, R], atol=1e-8)
    np.testing.assert_allclose(last['w_HO_H'], 0, atol=1e-12)


@pytest.mark.parametrize(('part', 'rests'), [(0.99, True), (1.01, False)])
def test_a_ball_rests_on_a_slope_up_to_the_lever_arm_over_its_radius(part, rests):
    slope, time = math.atan(part * LEVER / R), 2.0
    system, p = ball(slope)
    x = rolling(system)
    assert system.begin(p, x, STILL).mode == ('resting' if rests else 'rolling')
    found = system.state.unpack(run(system, p, x, time).states[-1])['p_HO_H'][0]
    way = 5 / 14 * G * (math.sin(slope) - math.cos(slope) * LEVER / R) * time**2
    way += 3 * CREEP / LEVER * R * time  # it begins at three times the creep
    assert found == pytest.approx(0.0 if rests else way, rel=1e-6, abs=1e-9)


def test_a_plate_that_is_driven_carries_a_resting_ball_until_it_turns():
    """At rest the contact holds force and torque; beyond g e/R of the plate the ball rolls."""
    system, p = ball()
    x, u = rolling(system), np.zeros(6)
    for part, mode in ((0.99, 'resting'), (1.01, 'rolling')):
        u[3] = part * G * LEVER / R  # along x
        assert system.begin(p, x, u).mode == mode
    wrench = np.array(system.modes['resting'].wrench(x, u, 0, p)).ravel()
    np.testing.assert_allclose(wrench[3:], [MASS * u[3], 0, MASS * G], atol=1e-12)
    np.testing.assert_allclose(wrench[:3], [0, MASS * u[3] * R, 0], atol=1e-14)


def test_a_ball_that_spins_rests_without_patch_and_with_one_it_slips_until_it_stops():
    for mu_spin, mode in ((0.0, 'resting'), (1e-3, 'slipping')):
        system, p = ball(mu_spin=mu_spin)
        s = system.begin(p, rolling(system, spin=4.0), STILL)
        assert s.mode == mode
        slows = mu_spin * MASS * G / (0.4 * MASS * R**2)
        end = run(system, p, s.x, 4.0 / slows * 1.01 if slows else 1.0)
        spin = system.state.unpack(end.states[-1])['w_HO_H'][2]
        assert spin == pytest.approx(0.0 if slows else 4.0, abs=1e-12)
        if slows:
            assert end.events[0].time == pytest.approx(4.0 / slows, rel=1e-5)


def test_an_egg_rests_where_it_has_rolled_to():
    """A cylinder-like turn about its long axis, that is slower by the lever arm."""
    system, p = ball(surface=Ellipsoid(0.06, 0.05, 0.05))
    x = rolling(system, v=(0.0, 0.3))
    motion = run(system, p, x, 3.0)
    assert motion.events[-1].name == 'rest'
    last = system.state.unpack(motion.states[-1])
    np.testing.assert_allclose(last['w_HO_H'], 0, atol=1e-14)


def test_a_lever_arm_of_a_system_without_one_is_refused():
    with pytest.raises(ParameterError, match='lever_arm: the system has none'):
        HybridContactSystem(Sphere(R)).pack_parameters(mass=1, inertia=1, lever_arm=1e-3)


def test_a_batch_rests_as_each_alone(monkeypatch):
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    (system, p), slows, v = ball(mu_spin=1e-3), 5 / 7 * G * LEVER / R, np.array([0.05, 0.1])
    batch = BatchSimulator(system, 2, 1.1 * v[1] / slows / 20, method='DOP853')
    batch.reset(states=np.array([rolling(system, (k, 0)) for k in v]), parameters=p)
    for _ in range(20):
        batch.step(STILL)
    assert batch.modes.tolist() == ['resting'] * 2
    places = batch.states[:, system.state.slice('p_HO_H')][:, 0]
    np.testing.assert_allclose(places, v**2 / (2 * slows), atol=1e-8)


def test_a_scenario_goes_from_flight_to_rest(tmp_path):
    """A ball that is thrown lands, slides and spins, rolls without spin, and rests."""
    (path := tmp_path / 'scenario.yaml').write_text("""
system: contact
object: {surface: {kind: sphere, radius: 0.05}, mass: 0.2, inertia: solid}
hand: {surface: {kind: plane}}
friction: {mu: 0.4, mu_kinetic: 0.3, lever_arm: 1.0e-2, material: {young: 3.0e+6, poisson: 0.45}}
hybrid: {}
initial:
  object: {position: [0, 0, 0.06], velocity: [0.2, 0, 0]}
  relative_velocity: {w_WO_W: [0, 0, 5]}
duration: 2
""")
    s = load_scenario(path)
    motion = simulate(s.system, s.p, s.x0, None, 2.0)
    assert [e.name for e in motion.events] == ['landing', 'stick', 'rest']
    assert s.system.begin(s.p, motion.states[-1], STILL).mode == 'resting'
