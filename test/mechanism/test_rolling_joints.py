"""Rolling joints whose contact slips and parts, and those on curved surfaces."""

import math

import casadi as ca
import numpy as np
import pytest
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate

G, R, MASS = 9.81, 0.05, 0.3
FINE = {'rtol': 1e-12, 'atol': 1e-13}


def shell(**joint):
    """Return a shell with a driven pendulum that rolls down a slope."""
    given = load_scenario('driven_shell').raw
    joints = {**given['machine']['joints'], 'shell': {'kind': 'rolling', 'mu': 0.8, **joint}}
    gravity = [G * math.sin(0.05), 0, -G * math.cos(0.05)]
    machine = {**given['machine'], 'joints': joints, 'gravity': gravity}
    start = {'w_shell': [1, 2, 3], 'q_shell': [0.1, 0.2, 0.3]}
    return load_scenario({**given, 'machine': machine, 'initial': start})


def ball(initial, duration=1.0, bodies=(), joints=(), control=(), **machine):
    """Return a scenario of a ball on a Rolling joint."""
    part = {'kind': 'ball', 'radius': R, 'mass': MASS}
    described = {'bodies': {'ball': part, **dict(bodies)}, 'joints': dict(joints), **machine}
    given = {'system': 'machine', 'machine': described, 'initial': initial}
    return load_scenario({**given, 'duration': duration, 'control': dict(control)})


def run(s):
    return simulate(s.system, s.p, s.x0, s.control, s.duration, **FINE)


def test_a_joint_with_modes_rolls_as_one_without():
    ends, poses, margins, at = [], [], [], np.linspace(0, 1.18, 12)
    for s in (shell(), shell(mu_kinetic=0.7)):
        motion, guards = run(s), s.system.guards
        assert [e.name for e in motion.events] == ['limit_pendulum']
        ends.append(motion.events[0].time)
        of = s.system.function('of', ca.vertcat(guards['normal_force'], guards['friction']))
        states = motion.state_at(at)
        poses.append([np.hstack([np.array(X) for X in s.system.pose(x, s.p)]) for x in states])
        margins.append([of(x, s.control(t, x), t, s.p) for x, t in zip(states, at, strict=True)])
    assert s.system.state.entries[0].name == 'p_shell'
    assert ends[0] == pytest.approx(ends[1], abs=1e-9)
    np.testing.assert_allclose(*poses, atol=1e-9)
    np.testing.assert_allclose(*np.array(margins), atol=1e-9)


def down(angle):
    return [G * math.sin(angle), 0.0, -G * math.cos(angle)]


def test_it_slips_when_a_growing_push_needs_more_than_friction_gives():
    angle, mu, kinetic, rate, end = 0.2, 0.3, 0.25, 2.0, 1.5
    s = ball(
        {'w_ball': [0, 4, 0]},
        end,
        joints={'ball': {'kind': 'rolling', 'mu': mu, 'mu_kinetic': kinetic}},
        drives={'push': {'kind': 'force', 'body': 'ball'}},
        control={'push': [f'{rate}*t', 0, 0]},
        gravity=down(angle),
    )
    motion = run(s)
    weight, carried = (MASS * G * f(angle) for f in (math.sin, math.cos))
    slips = (3.5 * mu * carried - weight) / rate  # a ball rolls with 2/7 of the force as friction
    assert [e.name for e in motion.events] == ['slip']
    assert motion.events[0].time == pytest.approx(slips, rel=1e-9)
    first, last = (s.system.state.unpack(motion.state_at(t)) for t in (slips, end))
    speed = 4 * R + (weight * slips + rate * slips**2 / 2) / (1.4 * MASS)
    np.testing.assert_allclose(first['v_ball'], [speed, 0, 0], atol=1e-5)
    more = (weight - kinetic * carried) * (end - slips) + rate * (end**2 - slips**2) / 2
    turned = 2.5 * kinetic * carried * (end - slips) / (MASS * R)
    np.testing.assert_allclose(last['v_ball'], [speed + more / MASS, 0, 0], atol=1e-5)
    np.testing.assert_allclose(last['w_ball'], [0, speed / R + turned, 0], atol=1e-4)


@pytest.mark.parametrize('angle', [0.79, 0.81])
def test_it_slips_at_once_on_a_slope_above_the_friction_angle(angle):
    """A ball rolls down a slope up to tan = 3.5 mu."""
    mu, kinetic, end = math.tan(0.8) / 3.5, 0.2, 0.5
    joint = {'kind': 'rolling', 'mu': mu, 'mu_kinetic': kinetic}
    s = ball({}, end, joints={'ball': joint}, gravity=down(angle))
    motion = run(s)
    speed, pull = 5 / 7 * G * math.sin(angle) * end, G * (math.sin(angle))
    if angle > 0.8:
        assert (motion.events[0].name, motion.events[0].time) == ('slip', 0.0)
        speed = (pull - kinetic * G * math.cos(angle)) * end
    found = s.system.state.unpack(motion.states[-1])['v_ball']
    np.testing.assert_allclose(found, [speed, 0, 0], atol=1e-5)


CREST = {
    'bodies': {'hill': {'kind': 'cylinder', 'radius': 0.4, 'length': 1.0, 'mass': 1.0}},
    'drives': {'still': {'kind': 'motion', 'of': 'hill'}},
}


def over_a_crest(surface, mu, start=0.3, **joint):
    """Return a ball that starts on a hill of radius 0.4 m, at an angle from its top."""
    hill = (
        CREST['bodies']['hill']
        if surface == 'cylinder'
        else {'kind': 'ball', 'radius': 0.4, 'mass': 1.0}
    )
    place = [0.45 * math.sin(start), 0.45 * math.cos(start), 0.1]
    return ball(
        {'p_ball': place if surface == 'cylinder' else [*place[:2], 0.0]},
        2.0,
        {'hill': hill},
        {
            'hill': {'kind': 'prismatic', 'axis': [0, 0, 1]},
            'ball': {
                'kind': 'rolling',
                'parent': 'hill',
                'surface': 'outside',
                'mu': mu,
                **joint,
            },
        },
        drives=CREST['drives'],
        gravity=[0, -G, 0],
    )


def angle_at(s, state):
    x, y, _ = s.system.state.unpack(state)['p_ball']
    return math.atan2(x, y)


@pytest.mark.parametrize('surface', ['cylinder', 'sphere'])
def test_it_parts_over_a_crest_where_it_has_no_weight_left(surface):
    """Half of 7/5 m v^2 is the energy of its fall, and v^2/(R + r) what its weight holds."""
    s = over_a_crest(surface, 1e9, mu_kinetic=1e9)
    motion = run(s)
    parts = next(e for e in motion.events if e.name == 'lift_off')
    assert math.cos(angle_at(s, parts.state)) == pytest.approx(10 / 17 * math.cos(0.3), abs=1e-8)


def test_it_slips_over_a_crest_where_friction_is_used_up():
    mu, start = 0.6, 0.3
    motion = run(s := over_a_crest('cylinder', mu, start, mu_kinetic=0.5))
    first, second = motion.events[:2]
    assert (first.name, second.name) == ('slip', 'lift_off')
    angle = angle_at(s, first.state)
    carried = math.cos(angle) - 10 / 7 * (math.cos(start) - math.cos(angle))
    assert 2 / 7 * math.sin(angle) == pytest.approx(mu * carried, abs=1e-8)


def test_on_a_curved_surface_it_rolls_as_a_pendulum_where_it_has_no_modes():
    """In a bowl: by energy, and back where it was after a whole swing."""
    joint = {'kind': 'rolling', 'surface': 'inside', 'radius': 0.4}
    s = ball(
        {'p_ball': [0.35 * math.sin(0.4), 0, -0.35 * math.cos(0.4)]}, 3.0, joints={'ball': joint}
    )
    motion = run(s)
    states = [s.system.state.unpack(x) for x in motion.states]
    for x in states:
        assert np.linalg.norm(x['p_ball']) == pytest.approx(0.35, abs=1e-10)
        fallen = 0.35 * (-math.cos(0.4)) - x['p_ball'][2]
        assert 0.7 * x['v_ball'] @ x['v_ball'] == pytest.approx(G * fallen, abs=1e-9)
    assert max(x['p_ball'][0] for x in states) > 0.13
    assert [e.name for e in s.system.state.entries] == ['p_ball', 'q_ball', 'v_ball', 'w_ball']


def test_it_parts_where_its_plate_falls_away_faster_than_it():
    """The plate gathers speed as k t: at g/k it is left behind."""
    rate = 20.0
    s = ball(
        {'w_ball': [0, 3, 0]},
        0.7,
        {'plate': {'kind': 'plate', 'side': 1.0}},
        {
            'plate': {'kind': 'prismatic', 'axis': [0, 0, 1]},
            'ball': {'kind': 'rolling', 'parent': 'plate', 'mu': 0.5, 'mu_kinetic': 0.4},
        },
        drives={'fall': {'kind': 'motion', 'of': 'plate'}},
        control={'fall': f'-{rate}*t'},
    )
    (event,) = run(s).events
    assert event.name == 'lift_off'
    assert event.time == pytest.approx(G / rate, rel=1e-9)
    at = s.system.state.unpack(event.state)
    np.testing.assert_allclose(at['w_ball'], [0, 3, 0], atol=1e-9)
    assert at['v_ball'][0] == pytest.approx(3 * R, abs=1e-9)


@pytest.mark.parametrize(
    ('initial', 'place', 'velocity', 'mode'),
    [
        ({}, [0, 0, R], [0, 0, 0], 'rolling'),
        ({'w_ball': [2, 1, 5]}, [0, 0, R], [R, -2 * R, 0], 'rolling'),
        ({'p_ball': [1, 2, R], 'w_ball': [2, 0, 0]}, [1, 2, R], [0, -2 * R, 0], 'rolling'),
        ({'v_ball': [1, 0, 0], 'w_ball': [0, 0, 0]}, [0, 0, R], [1, 0, 0], 'slipping'),
        ({'p_ball': [0, 0, 1.0], 'w_ball': [2, 0, 0]}, [0, 0, 1], [0, 0, 0], 'separated'),
    ],
)
def test_a_start_is_closed_and_rolls_unless_it_says_otherwise(initial, place, velocity, mode):
    s = ball(initial, joints={'ball': {'kind': 'rolling', 'mu_kinetic': 0.5}})
    at = s.system.state.unpack(s.x0)
    np.testing.assert_allclose(at['p_ball'], place, atol=1e-12)
    np.testing.assert_allclose(at['v_ball'], velocity, atol=1e-12)
    assert s.system.begin(s.p, s.x0, []).mode == mode


def test_a_start_with_a_speed_alone_rolls():
    s = ball({'v_ball': [1, 0, 0]}, joints={'ball': {'kind': 'rolling', 'mu_kinetic': 0.5}})
    np.testing.assert_allclose(s.system.state.unpack(s.x0)['w_ball'], [0, 1 / R, 0], atol=1e-12)


@pytest.mark.parametrize(
    ('more', 'text'),
    [
        (
            {'joints': {'ball': {'kind': 'rolling', 'mu_kinetic': 0.5, 'damping': 0.1}}},
            'damping: ',
        ),
        (
            {
                'joints': {'ball': {'kind': 'rolling', 'mu_kinetic': 0.5}},
                'drives': {'hand': {'kind': 'motion', 'of': 'ball'}},
            },
            'its motion is prescribed',
        ),
    ],
)
def test_what_has_no_modes_is_refused(more, text):
    with pytest.raises(ScenarioError, match=text):
        ball({}, **more)


def test_a_joint_on_the_outside_of_nothing_is_refused():
    with pytest.raises(ScenarioError, match='parent: a ball, a shell or a cylinder is needed'):
        ball({}, joints={'ball': {'kind': 'rolling', 'surface': 'outside'}})
