"""A body that touches a hand in three points, and contacts that resist spin and rolling."""

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import SPINNING
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.mechanism import Contact, Free, HybridMachine, Machine, Plane, Revolution
from rolling_dynamics.mechanism import Sphere as Ball
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Sphere
from rolling_dynamics.surfaces.surface import Chart, Surface
from rolling_robotics.page.modes import contacts_of
from test_two_contacts import G, IN_GROOVE, MASS, modes, over_groove, R, REST, TIGHT

EVEN = 0.4 * MASS * R**2
CREEP = 1e-6  # m/s, of a machine
NEAR = {'rel': 1e-3}  # the least friction across normals that fits is small, not zero
RHO = R / np.sqrt(2)  # of a ball in the groove: from its axis of rolling to its contacts
WALLS = ((1, 0, 1), (-1, 0, 1), (0, -1, 1))


@lru_cache(maxsize=1)
def over_corner():
    """Return a ball over a groove with a wall at 45 degrees across its end; built once."""
    uv, sharp = ca.SX.sym('uv', 2), 1e-14
    side = ca.sqrt(sharp + uv[0] ** 2)
    height = (side + uv[1] + ca.sqrt(sharp + (side - uv[1]) ** 2)) / 2
    charts = (Chart(name='c', coordinates=uv, position=ca.vertcat(uv, height)),)
    hand = Surface(name='chart', parameters=ca.SX(0, 1), values={}, charts=charts)
    return HybridContactSystem(Sphere(R), hand, contacts=3)


def on_planes(*normals, free_axes='world', **friction):
    """Return a ball as a machine on planes through the origin."""
    machine = Machine('ball')
    free = Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s', 'W'),
        axes=free_axes,
    )
    machine.body('ball', free, Revolution(ca.SX(MASS), ca.SX(EVEN)))
    for normal in normals:
        plane = Plane(tuple(np.array(normal) / np.linalg.norm(normal)))
        machine.contact(Contact(body='ball', shape=Ball(ca.SX(R)), surface=plane, **friction))
    return HybridMachine(machine)


def test_a_ball_rolls_into_the_corner_of_a_groove_as_a_machine_on_three_planes():
    """It hits the wall with two contacts closed, climbs it, and comes back into the groove."""
    s, planes = over_corner(), on_planes(*WALLS, mu=0.6, mu_kinetic=0.5)
    start = IN_GROOVE - [0, 0.1, 0], (0, 0.3, 0), (-0.3 / RHO, 0, 0)
    at = dict(zip(('p_HO_H', 'v_HO_H', 'w_HO_H'), start, strict=True))
    p = s.pack_parameters(
        mass=MASS, inertia=EVEN, edges=(-0.5, 0.5, -0.6, 0.5), mu=0.6, mu_kinetic=0.5
    )
    x = s.state.pack(contact_h=[-0.1, 0], q_HO=[1, 0, 0, 0], **at, **REST)
    run = simulate(s, p, x, None, 0.7, **TIGHT)
    y = planes.state.pack(**dict(zip('pvw', start, strict=True)), q=[1, 0, 0, 0])
    other = simulate(planes, [], y, None, 0.7, **TIGHT)
    assert [e.name for e in run.events] == [e.name for e in other.events]
    assert_allclose([e.time for e in run.events], [e.time for e in other.events], atol=1e-9)
    assert len(next(e for e in run.events if e.name == 'landing').state) == s.state.size
    assert 'rolling_separated_separated' in modes(run)  # in any order of its closest points
    for t in np.linspace(0, 0.7, 29):
        a, b = s.state.unpack(run.state_at(t)), planes.state.unpack(other.state_at(t))
        for name, same in (('p_HO_H', 'p'), ('v_HO_H', 'v'), ('w_HO_H', 'w')):
            assert_allclose(a[name], b[same], atol=1e-8)


def test_a_ball_rests_on_three_walls_which_carry_its_weight():
    s = over_corner()
    gravity = np.array([0, 3.0, -G])
    p = s.pack_parameters(
        mass=MASS, inertia=EVEN, edges=(-0.5, 0.5, -0.6, 0.5), mu=0.6, gravity_W=gravity
    )
    at = {'q_HO': [1, 0, 0, 0], 'p_HO_H': IN_GROOVE, 'v_HO_H': [0, 0, 0], 'w_HO_H': [0, 0, 0]}
    x = s.state.pack(contact_h=[-0.1, 0], **at, **REST)
    run = simulate(s, p, x, None, 0.3, **TIGHT)
    assert {*modes(run)} == {'rolling_rolling_rolling'}
    assert not run.events
    assert_allclose(s.state.unpack(run.states[-1])['p_HO_H'], IN_GROOVE, atol=1e-10)
    several = s.several[3]
    assert several.parts['rolling_rolling_rolling'].dependent == 3
    R_WC, force = several._first_contact[0], several.expressions.wrench[3:]
    of = several.function('force', R_WC @ force)
    carried = np.array(of(run.states[-1], np.zeros(6), 0.0, p)).ravel()
    assert_allclose(carried, -MASS * gravity, atol=1e-9)


def in_groove(speed, dry=False, **friction):
    s = over_groove(1e-7, R, dry=dry)
    friction = {'mu': 0.6, 'mu_kinetic': 0.5, **friction}
    p = s.pack_parameters(mass=MASS, inertia=EVEN, edges=(-1, 1, -9, 9), **friction)
    at = {'p_HO_H': IN_GROOVE, 'v_HO_H': (0, speed, 0), 'w_HO_H': (-speed / RHO, 0, 0)}
    return s, p, s.state.pack(contact_h=[-0.1, 0], q_HO=[1, 0, 0, 0], **at, **REST)


TURNED = EVEN + MASS * RHO**2  # about the axis of rolling
NORMAL = MASS * G / np.sqrt(2)  # of each wall


def test_rolling_resistance_at_two_contacts_slows_a_ball_as_the_exponential_says():
    """Half of the rate of each contact is rolling, so both together resist as one."""
    s, p, x = in_groove(0.3, rolling_resistance=4e-3)
    run = simulate(s, p, x, None, 0.8, **TIGHT)
    assert {*modes(run)} == {'rolling_rolling'}
    rate = 4e-3 * NORMAL / TURNED
    end = s.state.unpack(run.states[-1])
    assert end['v_HO_H'][1] == pytest.approx(0.3 * np.exp(-rate * 0.8), **NEAR)
    way = 0.3 / rate * (1 - np.exp(-rate * 0.8))
    assert end['p_HO_H'][1] == pytest.approx(way, **NEAR)


def test_a_ball_with_dry_resistance_at_two_contacts_rolls_out_as_far_as_its_energy_lasts():
    """Each wall resists the part of the rate along it: sqrt(2) times the lever arm of one."""
    lever, speed = 2e-3, 0.2
    s, p, x = in_groove(speed, dry=True, lever_arm=lever)
    slows = np.sqrt(2) * lever * NORMAL / TURNED * RHO
    run = simulate(s, p, x, None, 1.3 * speed / slows, **TIGHT)
    rest = next(e for e in run.events if e.name == 'rest')
    assert rest.time == pytest.approx(speed / slows, **NEAR)
    assert modes(run)[-1] == 'resting_resting'
    way = s.state.unpack(run.states[-1])['p_HO_H'][1]
    assert way == pytest.approx(speed**2 / (2 * slows), **NEAR)


def test_spin_friction_at_two_contacts_is_that_of_a_machine_on_two_planes():
    patch = 1e-3 / (SPINNING * 0.6)
    s, p, x = in_groove(0.3, mu_spin=1e-3)
    run = simulate(s, p, x, None, 0.6, **TIGHT)
    planes = on_planes(*WALLS[:2], mu=0.6, mu_kinetic=0.5, patch=patch)
    y = planes.state.pack(p=IN_GROOVE, v=[0, 0.3, 0], w=[-0.3 / RHO, 0, 0], q=[1, 0, 0, 0])
    other = simulate(planes, [], y, None, 0.6, **TIGHT)
    a, b = s.state.unpack(run.states[-1]), planes.state.unpack(other.states[-1])
    assert_allclose(a['v_HO_H'], b['v'], atol=1e-8)
    assert_allclose(a['p_HO_H'], b['p'], atol=1e-8)
    slows = np.sqrt(2) * SPINNING * 0.5 * patch * NORMAL / TURNED * RHO  # where the slip is small
    assert a['v_HO_H'][1] == pytest.approx(0.3 - 0.6 * slows, rel=0.02)


@pytest.mark.parametrize('squeeze', [0.0, 2.0])
def test_a_ball_between_two_plates_spins_down_by_the_torque_of_both(squeeze):
    """The lower plate carries the weight and the squeeze of the upper one."""
    mu, patch, w = 0.3, 1e-3, 20.0
    machine = Machine('ball')
    free = Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s', 'W'),
        axes='world',
    )
    machine.body('ball', free, Revolution(ca.SX(MASS), ca.SX(EVEN)))
    both = {'body': 'ball', 'shape': Ball(ca.SX(R)), 'mu': mu, 'mu_kinetic': mu, 'patch': patch}
    machine.contact(Contact(**both))
    above = Plane((0, 0, -1), foot=ca.DM([0, 0, 2 * R]))
    machine.contact(Contact(**both, surface=above, normal_force=squeeze))
    s = HybridMachine(machine)
    x = s.state.pack(p=[0, 0, R], q=[1, 0, 0, 0], w=[0, 0, w])
    torque = SPINNING * mu * patch * (MASS * G + 2 * squeeze)
    stops = EVEN * w / torque
    run = simulate(s, [], x, None, 1.1 * stops, **TIGHT)
    stick = next(e for e in run.events if e.name == 'stick')
    assert stick.time == pytest.approx(stops * (1 - CREEP / (patch * w)), rel=1e-8)
    half = s.state.unpack(run.state_at(stops / 2))
    assert_allclose(half['w'], [0, 0, w / 2], atol=1e-6)


def test_proportional_resistance_of_a_contact_is_that_of_the_body_on_a_hand():
    """A ball on a plane: the exponential with 7/5 m R^2, on a contact of a machine."""
    s = on_planes((0, 0, 1), mu=0.5, mu_kinetic=0.5, rolling_resistance=5e-3, resistance=1e-3)
    x = s.state.pack(p=[0, 0, R], q=[1, 0, 0, 0], v=[0.4, 0, 0], w=[0, 0.4 / R, 0])
    run = simulate(s, [], x, None, 0.5, **TIGHT)
    rate = 5e-3 * G / (1.4 * R**2)
    dry = 1e-3 * G / (1.4 * R)
    expected = (0.4 + dry / rate) * np.exp(-rate * 0.5) - dry / rate
    assert s.state.unpack(run.states[-1])['v'][0] == pytest.approx(expected, rel=1e-8)


def test_a_scenario_says_in_how_many_places_the_object_may_touch():
    hand = {'kind': 'expression', 'position': ['u', 'v', 'sqrt(1e-6 + u^2)']}
    given = {
        'system': 'contact',
        'object': {'surface': {'kind': 'sphere', 'radius': R}, 'mass': MASS, 'inertia': EVEN},
        'hand': {'surface': hand, 'edges': {'u': [-1, 1], 'v': [-9, 9]}},
        'friction': {'mu': 0.6, 'mu_spin': 1e-3},
        'initial': {'object': {'position': [-0.1, 0, 0.26]}},
        'duration': 1,
    }
    for contacts, entries in ((1, 1), (2, 2), (3, 3)):
        s = load_scenario({**given, 'hybrid': {'contacts': contacts}})
        found = [e.name for e in s.system.state.entries if e.name.startswith('contact')]
        assert found == ['contact_h', 'contact_2', 'contact_3'][:entries]
    with pytest.raises(ParameterError, match=r'at most 2 contacts .* is 3'):
        contacts_of(s.system)
