"""Contacts on any surface with a chart: beside closed forms and contact coordinates."""

import math

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism import Contact, Free, Machine, MachineSystem, Revolution, Solid
from rolling_dynamics.mechanism import Ellipsoid as Egg
from rolling_dynamics.mechanism import Plane as Flat
from rolling_dynamics.mechanism import Sphere as Ball
from rolling_dynamics.mechanism.shapes import Charted
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere

G, R, MASS = 9.81, 0.05, 0.3
EVEN = ca.SX(0.4 * MASS * R**2)
TIGHT = {'rtol': 1e-10, 'atol': 1e-12}


def rolling(shape, surface, mass=None):
    """Return a body that rolls on a surface of the ground."""
    machine = Machine('body')
    free = Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s', 'W'),
        axes='world',
    )
    machine.body('body', free, mass or Revolution(ca.SX(MASS), EVEN))
    foot = 'foot' if isinstance(surface, Charted) else ''
    machine.contact(Contact(body='body', shape=shape, surface=surface, foot=foot))
    return MachineSystem(machine)


def started(system, place, speed, kept=('p', 'q', 'w')):
    x = system.state.pack(p=place, q=[0.8, 0.4, 0.2, 0.4], w=speed)
    return system.placed([], x, kept)


def test_a_ball_on_a_chart_of_a_sphere_moves_as_on_the_sphere():
    start = 0.45 * np.array([0.5, 0.3, math.sqrt(1 - 0.34)]), [1.0, -2.0, 3.0]
    one = rolling(Ball(ca.SX(R)), Ball(ca.SX(0.4)))
    two = rolling(Ball(ca.SX(R)), Charted(Sphere(0.4, pole='y')))
    states = []
    for s in (one, two):
        run = simulate(s, [], started(s, *start), [], 0.25, **TIGHT)
        assert not run.events
        states.append(run.states[-1][: one.state.size])
    np.testing.assert_allclose(states[1], states[0], atol=1e-9)


def test_an_ellipsoid_on_an_ellipsoid_moves_as_by_contact_coordinates():
    """The accelerations of the contact system, whose hand is the lower one, at rest."""
    radii, lower = (0.05, 0.07, 0.06), (0.3, 0.4, 0.35)
    inertia = MASS / 5 * np.diag([0.07**2 + 0.06**2, 0.05**2 + 0.06**2, 0.05**2 + 0.07**2])
    s = rolling(
        Egg(ca.SX(ca.DM(radii))),
        Charted(Ellipsoid(*lower, pole='y')),
        Solid(ca.SX(MASS), ca.SX(ca.DM(inertia))),
    )
    x = started(s, [0.15, 0.1, 0.38], [1.0, -2.0, 0.5], kept=('q', 'w'))
    c = ContactSystem(Ellipsoid(*radii), Ellipsoid(*lower, pole='y'), representation='attitude')
    p = c.pack_parameters(mass=MASS, inertia=inertia)
    at = s.state.unpack(x)
    rest = {'q_WH': [1, 0, 0, 0]} | dict.fromkeys(('p_WH', 'w_WH_H', 'v_WH_H'), np.zeros(3))
    y = c.state.pack(q_HO=at['q'], contact_h=at['foot'], w_HO_H=at['w'], **rest)
    found = s.state.unpack(np.array(s.mode.dynamics(x, [], 0, [])).ravel())
    wanted = c.state.unpack(np.array(c.mode.dynamics(y, np.zeros(6), 0, p)).ravel())
    for name, same in (('w', 'w_HO_H'), ('foot', 'contact_h'), ('q', 'q_HO')):
        np.testing.assert_allclose(found[name], wanted[same], atol=1e-9)
    force = np.array(c.mode.wrench(y, np.zeros(6), 0, p)).ravel()[3:]
    np.testing.assert_allclose(
        np.array(s.mode.wrench(x, [], 0, [])).ravel()[5], force[2], atol=1e-9
    )


def test_it_stays_on_the_surface_and_keeps_its_energy():
    s = rolling(
        Egg(ca.SX(ca.DM([0.05, 0.06, 0.07]))),
        Charted(Ellipsoid(0.5, 0.6, 0.4, side='inside', pole='y')),
    )
    x = started(s, [0.05, 0.05, -0.3], [1.0, 2.0, 0.5], kept=('q', 'w'))
    run = simulate(s, [], x, [], 1.0, **TIGHT)
    assert not run.events
    gaps = [float(s.gap_function(y, [])) for y in run.states]
    assert np.abs(gaps).max() < 1e-10
    off = s.of_state('off', s.closest['foot'].off)
    assert max(np.abs(np.array(off(y, []))).max() for y in run.states) < 1e-10
    energy = [float(s.invariants['energy'](y, [], 0, [])) for y in run.states]
    np.testing.assert_allclose(energy, energy[0], atol=1e-8)


def test_an_ellipsoid_on_a_chart_of_the_plane_moves_as_on_the_plane():
    radii = Egg(ca.SX(ca.DM([0.05, 0.06, 0.07])))
    one, two = (
        rolling(radii, Flat()),
        rolling(radii, Charted(Plane())),
    )
    states = []
    for s in (one, two):
        x = started(s, [0.1, 0.2, 0.06], [1.0, 2.0, 0.5], kept=('q', 'w'))
        states.append(simulate(s, [], x, [], 0.5, **TIGHT).states[-1][: one.state.size])
    np.testing.assert_allclose(states[1], states[0], atol=1e-9)


def test_a_contact_with_two_ellipsoids_or_a_chart_comes_from_a_scenario():
    """A ball that oscillates in a trough rises to where it was; one on an egg rolls down."""
    chart = {'kind': 'expression', 'position': ['u', 'v', '0.5*u^2 + 0.4*v^2']}
    joint = {'kind': 'rolling', 'surface': 'chart', 'chart': chart}
    machine = {
        'bodies': {'ball': {'kind': 'ball', 'radius': R, 'mass': MASS}},
        'joints': {'ball': joint},
    }
    given = {
        'system': 'machine',
        'machine': machine,
        'initial': {'p_ball': [0.2, 0, 0.068]},
        'duration': 1,
    }
    with pytest.raises(Exception, match='has a gap of'):
        load_scenario(given)
    given['initial'] = {'foot_ball': [0.2, 0]}
    s = load_scenario(given)
    run = simulate(s.system, s.p, s.x0, s.control, 1.0, **TIGHT)
    assert not run.events
    at = s.system.state.unpack(s.x0)
    np.testing.assert_allclose(at['foot_ball'][1], 0, atol=1e-12)
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    np.testing.assert_allclose(energy, energy[0], atol=1e-9)


def test_a_body_beside_a_surface_is_refused():
    s = rolling(Ball(ca.SX(R)), Charted(Ellipsoid(0.3, 0.3, 0.3)))
    with pytest.raises(ParameterError, match='no point of its surface is closest'):
        started(s, [0, 0, 0], [0, 0, 0])
    with pytest.raises(ParameterError, match='come together'):
        Contact(body='body', shape=Ball(ca.SX(R)), surface=Charted(Plane()))


def test_an_egg_rolls_on_an_egg_from_a_scenario():
    egg = {'kind': 'ellipsoid', 'mass': 1.0}
    machine = {
        'bodies': {
            'low': {**egg, 'radii': [0.3, 0.4, 0.35]},
            'egg': {**egg, 'radii': [0.05, 0.06, 0.07]},
        },
        'joints': {
            'low': {'kind': 'prismatic', 'axis': [0, 0, 1]},
            'egg': {'kind': 'rolling', 'parent': 'low', 'surface': 'outside', 'mu_kinetic': 0.9},
        },
        'drives': {'still': {'kind': 'motion', 'of': 'low'}},
    }
    start = {'p_egg': [0.1, 0.02, 0.42], 'q_egg': [0.3, 0.2, 0.1]}
    given = {'system': 'machine', 'machine': machine, 'initial': start, 'duration': 0.2}
    s = load_scenario(given)
    assert s.system.begin(s.p, s.x0, [0]).mode == 'separated'
    run = simulate(s.system, s.p, s.x0, s.control, 0.2, **TIGHT)
    assert run.events[0].name == 'landing'
    energy = run.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert energy[-1] < energy[0]
    assert abs(float(s.system.gap_function(run.events[0].state, s.p))) < 1e-9
