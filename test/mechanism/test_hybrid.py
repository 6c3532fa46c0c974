"""Contacts of machines that part and meet: impacts beside hand derivations and other code."""

import math

import casadi as ca
import numpy as np
import pytest
from rolling_controller import run_lockstep, TimeVaryingLqr
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.contract.rolling_system import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.friction import SPINNING
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.mechanism import (
    Contact,
    Driven,
    Ellipsoid,
    Free,
    HybridMachine,
    Machine,
    Plane,
    Revolute,
    Revolution,
    Rolling,
    Solid,
    Sphere,
)
from rolling_dynamics.mechanism.impact import _at_once, Friction, impact, orders
from rolling_dynamics.mechanism.rebound import rebound_impulse
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.surfaces import Ellipsoid as Quadric
from rolling_planner import InfeasibleError, plan_rolling, PlanProblem
from rolling_planner.problem.scenario import read_problem
from transforms3d import quaternions
import yaml

G, R, MASS = 9.81, 0.05, 0.3
EVEN = 0.4 * MASS * R**2
FINE = {'rtol': 1e-11, 'atol': 1e-13}


def free(name):
    return Free(
        position=vector_entry(f'p_{name}', 'm', 'W'),
        attitude=quaternion_entry(f'q_{name}'),
        velocity=vector_entry(f'v_{name}', 'm/s', 'W'),
        speed=vector_entry(f'w_{name}', 'rad/s', name),
    )


def ball(*normals, mu=0.5, restitution=0.0, stiffness=None, damping=0.0, mass=None):
    """Return a ball over planes through (-R, 0, 0) times their normals' sum, and its machine."""
    machine = Machine('ball')
    machine.body('ball', free('ball'), mass or Revolution(ca.SX(MASS), ca.SX(EVEN)))
    for normal in normals:
        machine.contact(
            Contact(
                body='ball',
                shape=Sphere(ca.SX(R)),
                surface=Plane(normal),
                mu=mu,
                mu_kinetic=mu,
                restitution=restitution,
                stiffness=stiffness,
                damping=damping,
            )
        )
    return HybridMachine(machine)


FLOOR, WALL = (0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)


def run(system, x, end, **more):
    return simulate(system, np.zeros(0), x, np.zeros(system.control.size), end, **FINE, **more)


def test_a_ball_that_is_dropped_bounces_to_the_fraction_of_its_height():
    height, back = 0.4, 0.81
    system = ball(FLOOR, restitution=back)
    fall = math.sqrt(2 * height / G)
    motion = run(system, system.state.pack(p_ball=[0, 0, R + height]), fall * 3.0)
    first, second = motion.events
    assert [first.name, second.name] == ['landing', 'landing']
    assert first.time == pytest.approx(fall, rel=1e-10)
    assert second.time == pytest.approx(fall * (1 + 2 * math.sqrt(back)), rel=1e-9)
    speed = system.state.unpack(first.state)['v_ball']
    np.testing.assert_allclose(speed, [0, 0, math.sqrt(2 * G * back * height)], atol=1e-9)


@pytest.mark.parametrize('mu', [0.1, 0.6])
def test_a_ball_that_rolls_into_a_wall_climbs_it_by_the_friction_there(mu):
    """By hand: the wall stops the ball, and rubs it until it slips no more at 2/7 of the speed."""
    v, way = 1.4, 0.3
    given = load_scenario('ball_and_wall').raw
    touch = {'body': 'ball', 'mu': mu, 'mu_kinetic': mu}
    contacts = {'floor': touch, 'wall': {**touch, 'normal': [-1, 0, 0]}}
    ball = {'ball': {'kind': 'ball', 'radius': R, 'mass': MASS}}
    machine = {**given['machine'], 'bodies': ball, 'contacts': contacts}
    scenario = load_scenario({**given, 'machine': machine})
    system, p = scenario.system, scenario.p
    x = system.state.pack(p_ball=[-R - way, 0, R], v_ball=[v, 0, 0], w_ball=[0, v / R, 0])
    hit, up = way / v, min(mu, 2 / 7) * v
    motion = simulate(system, p, x, np.zeros(0), hit + 0.5 * up / G, **FINE)
    assert motion.events[0].name == 'landing'
    assert 'impact_order' not in [e.name for e in motion.events]
    assert motion.events[0].time == pytest.approx(hit, rel=1e-10)
    after = system.state.unpack(motion.events[0].state)
    np.testing.assert_allclose(after['v_ball'], [0, 0, up], atol=1e-9)
    np.testing.assert_allclose(after['w_ball'], [0, (v - 2.5 * up) / R, 0], atol=1e-7)
    last = system.state.unpack(motion.states[-1])
    flown = motion.times[-1] - hit
    assert last['p_ball'][2] == pytest.approx(R + up * flown - G * flown**2 / 2, rel=1e-9)


def shell_near_a_wall(start):
    """Return the scenario of a driven shell with a wall at the origin."""
    given = load_scenario('driven_shell').raw
    touch = {'mu': 0.3, 'mu_kinetic': 0.25, 'restitution': 0.2}
    contacts = {'wall': {'body': 'shell', 'normal': [-1, 0, 0], **touch}}
    machine = {**given['machine'], 'contacts': contacts}
    return load_scenario({**given, 'machine': machine, 'initial': {'c_shell': [start, 0]}})


def test_a_plan_is_made_in_the_mode_of_the_start_and_keeps_gaps_open():
    s = shell_near_a_wall(-0.8)
    names = list(s.system.modes)
    assert names == ['separated', 'rolling', 'slipping']
    assert s.system.mode_of(s.system.phases) == names[0]
    assert s.system.begin(s.p, s.x0, [0, 0], 0.0).mode == names[0]
    assert sorted(s.system.envelope) == ['friction_shell', 'gap_shell_2', 'normal_force_shell']
    goal = {'goal': {'c_shell': [-0.5, 0.0]}, 'horizon': 3.0, 'control_limits': 0.5}
    problem = PlanProblem(system=s.system, p=s.p, x_start=s.x0, **goal)
    plan = plan_rolling(problem)
    gap = [float(s.system.envelope['gap_shell_2'](x, [0, 0], 0, s.p)) for x in plan.states]
    np.testing.assert_allclose(gap, -plan.states[:, 0] - 0.15, atol=1e-12)
    np.testing.assert_allclose([gap[0], gap[-1]], [0.65, 0.35], atol=1e-3)
    assert next(iter(shell_near_a_wall(-0.15).system.modes)) == 'rolling'


@pytest.mark.slow
@pytest.mark.parametrize(
    ('wall', 'mu', 'least', 'text'),
    [
        (False, 0.02, 0.05, r'friction cone cannot be kept: mu = 0\.02 is given, .* needs 0\.0'),
        (True, 0.02, 0.05, r'cannot be kept at the contact of shell: mu = 0\.02 is given'),
        (False, 0.5, 1.2, r'normal force cannot be kept: at least 1\.2 of the weight .* to 0\.9'),
    ],
)
def test_a_failure_to_plan_for_a_machine_names_the_limit(wall, mu, least, text):
    given = shell_near_a_wall(-0.8).raw
    joints = {**given['machine']['joints'], 'shell': {'kind': 'rolling', 'mu': mu}}
    machine = {**given['machine'], 'joints': joints}
    if not wall:
        del machine['contacts']
    s = load_scenario({**given, 'machine': machine})
    goal = {'goal': {'c_shell': [-0.5, 0.0]}, 'horizon': 2.0, 'control_limits': 0.5}
    limits = {'normal_force_min': least}
    problem = PlanProblem(system=s.system, p=s.p, x_start=s.x0, **goal, **limits)
    with pytest.raises(InfeasibleError, match=text):
        plan_rolling(problem)


def test_a_ball_with_backspin_is_pushed_on_the_floor_and_the_order_is_reported():
    """The wall rubs it down, so that the floor answers within the same impact."""
    v, spin = 1.0, -30.0
    system = ball(FLOOR, WALL, mu=0.2)
    x = system.state.pack(p_ball=[-R, 0, R], v_ball=[v, 0, 0], w_ball=[0, spin, 0])
    s = system.begin([], x, [], 0.0)
    assert [e.name for e in s.events] == ['landing', 'impact_order']
    after = system.state.unpack(s.x)
    # at once: P at the wall, mu P down there, so N = mu P, and mu N back from the floor's slip
    wall = MASS * v / (1 + 0.2**2)
    floor = 0.2 * wall
    slip = [(MASS * v - wall + s_ * 0.2 * floor) / MASS for s_ in (1, -1)]
    assert min(abs(after['v_ball'][0] - e) for e in slip) < 1e-9
    assert after['v_ball'][2] == pytest.approx(0, abs=1e-9)


def test_outcomes_of_one_contact_are_those_of_a_single_impact():
    rng = np.random.default_rng(5)
    for _ in range(20):
        A = rng.normal(size=(3, 3))
        W, v = A @ A.T + 0.3 * np.eye(3), rng.normal(size=3)
        v[2] = -abs(v[2]) - 0.01
        c = Friction(0.4, 0.3, 0.5)
        found = impact(W, v, [c])
        expected, _ = rebound_impulse(W, v, *c)
        np.testing.assert_array_equal(found.impulse[0], expected)
        assert found.spread == 0


def test_several_impulses_obey_their_cones_and_lose_energy():
    rng = np.random.default_rng(6)
    for _ in range(30):
        J = rng.normal(size=(9, 12))
        W, v, mu = J @ J.T, J @ rng.normal(size=12), 0.3
        v[2::3] = -np.abs(v[2::3])
        P = _at_once(W, v, [mu] * 3, [False] * 3).reshape(3, 3)
        after = (v + W @ P.ravel()).reshape(3, 3)
        assert np.all(after[:, 2] > -1e-9)
        np.testing.assert_allclose(P[:, 2] * np.maximum(after[:, 2], 0), 0, atol=1e-8)
        along = np.hypot(P[:, 0], P[:, 1])
        assert np.all(along <= mu * P[:, 2] + 1e-9)
        for push, w in zip(P, after, strict=True):
            if np.hypot(*w[:2]) > 1e-6:  # slips: against it, at the limit
                expected = -mu * push[2] * w[:2] / np.hypot(*w[:2])
                np.testing.assert_allclose(push[:2], expected, atol=1e-6)
        assert P.ravel() @ (v + after.ravel()) / 2 < 1e-12


def wedge(angle):
    """Return W, and v of a ball that falls on two planes; their normals differ by 2 angles."""
    A = np.array(
        [
            np.concatenate([d, np.cross([-R * s, 0, -R * c], d)])
            for c, s in ((math.cos(angle), -math.sin(angle)), (math.cos(angle), math.sin(angle)))
            for d in ([c, 0, -s], [0, 1, 0], [s, 0, c])
        ]
    )
    return A @ np.diag([1 / MASS] * 3 + [1 / EVEN] * 3) @ A.T, A @ [0.01, 0.2, -0.5, 0, 0, 0]


@pytest.mark.parametrize('angle', [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-6])
def test_a_ball_in_a_wedge_that_is_nearly_a_plane_stays_there(angle):
    """Normals that are nearly one are no jam; the impulse is that of a plane but for the angle."""
    W, v = wedge(angle)
    P = impact(W, v, [Friction(0.6, 0.5, 0.0)] * 2).impulse
    after = (v + W @ P.ravel()).reshape(2, 3)
    assert after[:, 2].min() >= -1e-6
    assert np.abs(P[:, 2] * after[:, 2]).max() < 1e-6
    assert np.all(np.hypot(P[:, 0], P[:, 1]) <= 0.5 * P[:, 2] + 1e-9)
    assert P[:, 2].sum() == pytest.approx(0.5 * MASS, rel=3 * angle)


@pytest.mark.parametrize('wide', [False, True])
def test_feet_that_land_at_once_are_reported_where_the_first_would_rise_again(wide):
    """One after the other, the second impulse lifts the first foot where mass is beyond it."""
    half, speed = 0.3, 1.0
    machine = Machine('plank')
    inertia = MASS * half**2 * (3 if wide else 1 / 3)
    machine.body('plank', free('plank'), Revolution(ca.SX(MASS), ca.SX(inertia)))
    for side, foot in ((1, 'left'), (-1, 'right')):
        machine.body(foot, _fixed([side * half, 0, 0]), on='plank')
        machine.contact(Contact(body=foot, shape=Sphere(ca.SX(R)), mu=0.3, mu_kinetic=0.2))
    system = HybridMachine(machine)
    x = system.state.pack(p_plank=[0, 0, R + 0.1])
    x[system.state.slice('v_plank')] = [0, 0, -speed]
    motion = run(system, x, 0.2)
    assert [e.name for e in motion.events][:2] == ['landing', 'impact_order'][: 1 + wide]
    after = system.state.unpack(motion.events[0].state)
    np.testing.assert_allclose(after['v_plank'], 0, atol=1e-9)
    np.testing.assert_allclose(after['w_plank'], 0, atol=1e-9)
    last = system.state.unpack(motion.states[-1])
    np.testing.assert_allclose(last['p_plank'], [0, 0, R], atol=1e-9)


def _fixed(place):
    """Return a joint that holds a body at a place of its parent."""
    name = f'turn{place[0]:g}'
    hinge = Revolute(
        angle=Entry(name, (name,), 'rad', kind='angle'),
        speed=Entry(f'{name}_rate', (f'{name}_rate',), 'rad/s'),
        axis=[0, 0, 1],
        place=place,
    )
    return Driven(joint=hinge, rates=ca.SX(1, 1))


def test_a_soft_contact_parts_where_its_force_vanishes_and_closes_again():
    """Half a period in the floor, with the speed back; then a parabola."""
    stiff, v = 2000.0, 0.7
    system = ball(FLOOR, stiffness=stiff)
    x = system.state.pack(p_ball=[0, 0, R + 0.01], v_ball=[0, 0, -v])
    motion = run(system, x, 0.3)
    names = [e.name for e in motion.events]
    assert names[:3] == ['landing', 'lift_off', 'landing']
    closed, opened, again = (e.time for e in motion.events[:3])
    speed, rate = math.sqrt(v**2 + 2 * G * 0.01), math.sqrt(stiff / MASS)
    assert closed == pytest.approx((speed - v) / G, rel=1e-9)
    # the floor gives by z'' = -g - rate^2 z, from 0 at -speed back to 0
    held = (2 * math.pi - 2 * math.atan2(speed * rate, G)) / rate
    assert opened - closed == pytest.approx(held, rel=1e-8)
    assert again - opened == pytest.approx(2 * speed / G, rel=1e-8)
    energy = motion.evaluate(lambda s: s.invariants['energy'])[:, 0]
    assert np.ptp(energy) < 1e-8 * np.abs(energy).max()


def test_a_rolling_joint_that_would_have_to_part_ends_the_motion():
    machine = Machine('rolling')
    rolling = Rolling(
        shape=Sphere(ca.SX(R)),
        contact=vector_entry('contact', 'm', 'W', suffixes='xy'),
        attitude=quaternion_entry('q'),
        speed=vector_entry('w', 'rad/s', 'W'),
    )
    machine.body('ball', rolling, Revolution(ca.SX(MASS), ca.SX(EVEN)))
    wall = Contact(
        body='ball', shape=Sphere(ca.SX(R)), surface=Plane(WALL), mu=0.5, mu_kinetic=0.5
    )
    machine.contact(wall)
    system = HybridMachine(machine)
    x = system.state.pack(contact=[-R - 0.1, 0], w=[0, 10.0, 0])
    motion = run(system, x, 1.0)
    assert [e.name for e in motion.events] == ['landing', 'jammed']
    assert 'at the Rolling joint of ball' in motion.events[-1].text
    assert motion.times[-1] == pytest.approx(0.1 / (10.0 * R), rel=1e-9)


@pytest.mark.parametrize(('height', 'speed'), [(R, 1.0), (R + 0.4, 0.0)])
def test_a_start_that_slides_or_flies_is_left_as_it_is(height, speed):
    """Contacts that may slip or part close no loop."""
    system = ball(FLOOR)
    x = system.state.pack(
        p_ball=[0, 0, height], q_ball=[1, 0, 0, 0], v_ball=[speed, 0, 0], w_ball=[0] * 3
    )
    np.testing.assert_array_equal(system.placed([], x), x)


def test_each_contact_of_a_body_that_only_rolls_is_judged_in_an_impact():
    machine, given = Machine('ball'), {'mu': 9.0, 'normal_force': 1.0, 'side_force': 0.0}
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), ca.SX(EVEN)))
    for normal, more in ((FLOOR, {}), ((0.0, -1.0, 0.0), given), (WALL, {'mu_kinetic': 0.5})):
        options = {'shape': Sphere(ca.SX(R)), 'surface': Plane(normal), 'mu': 0.5, **more}
        machine.contact(Contact(body='ball', **options))
    system = HybridMachine(machine)
    x = system.state.pack(
        p_ball=[-R - 0.01, -R, R], v_ball=[0.5, 0, 0], w_ball=[0, 0.5 / R, 0.5 / R]
    )
    *_, last = run(system, x, 0.2).events
    assert last.name == 'jammed'
    assert 'at the contact ball,' in last.text  # the first, on the floor; not only the last one


def test_a_thrown_ellipsoid_lands_slides_and_bounces_as_by_the_equations_of_its_own_system():
    """The hybrid contact derives its kinematics on its own, and sticks at a lower speed."""
    axes, inertia = [0.03, 0.02, 0.015], [2e-5, 3e-5, 4e-5]
    machine = Machine('egg')
    machine.body('egg', free('egg'), Solid(ca.SX(MASS), ca.diag(ca.DM(inertia))))
    touch = {'mu': 0.3, 'mu_kinetic': 0.2, 'restitution': 0.4}
    machine.contact(Contact(body='egg', shape=Ellipsoid(ca.DM(axes)), **touch))
    machine.creep = 1e-8
    system, other = HybridMachine(machine), HybridContactSystem(Quadric(*axes))
    q, w, v = np.array([0.9, 0.3, -0.2, 0.1]), [2.0, -3.0, 4.0], [0.4, -0.2, 0.3]
    q /= np.linalg.norm(q)
    x = system.state.pack(p_egg=[0, 0, 0.1], q_egg=q, v_egg=v, w_egg=w)
    one = simulate(system, np.zeros(0), x, None, 0.5, **FINE)
    p = other.parameters.pack(
        mass=MASS, mu_spin=0.0, inertia=[*inertia, 0, 0, 0], gravity_W=[0, 0, -G], **touch
    )
    turned = quaternions.rotate_vector(w, q)
    still = {name: np.zeros(3) for name in ('p_WH', 'w_WH_H', 'v_WH_H')}
    y = other.state.pack(
        q_WH=[1, 0, 0, 0], **still, q_HO=q, p_HO_H=[0, 0, 0.1], w_HO_H=turned, v_HO_H=v
    )
    two = simulate(other, p, y, np.zeros(6), 0.5, **FINE)
    kinds = [e.name for e in one.events]
    assert kinds == [e.name for e in two.events]
    assert kinds.count('landing') > 3
    times = [[e.time for e in motion.events] for motion in (one, two)]
    np.testing.assert_allclose(*times, rtol=1e-6)
    last, there = system.state.unpack(one.states[-1]), other.state.unpack(two.states[-1])
    np.testing.assert_allclose(last['p_egg'], there['p_HO_H'], atol=1e-6)
    np.testing.assert_allclose(last['v_egg'], there['v_HO_H'], atol=1e-5)


def test_a_rod_that_is_pushed_over_the_floor_meets_painleve():
    """Uniform rod: 1 + 3 cos (cos - mu sin) of its angle, times 1/m, is what a force moves."""
    half, mu, speed = 0.5, 2.0, 1.0
    for angle, determined in ((0.6, True), (1.0, False)):
        factor = 1 + 3 * math.cos(angle) * (math.cos(angle) - mu * math.sin(angle))
        assert (factor > 0) == determined
        rod = Revolution(ca.SX(MASS), ca.SX(MASS * half**2 / 3), offset=half)
        system = _tip(rod, mu)
        # the rod stands up by the angle from the floor, towards +x, and its tip slides to -x
        turn = math.pi / 2 - angle
        x = system.state.pack(
            p_ball=[0, 0, 1e-9], q_ball=[math.cos(turn / 2), 0, math.sin(turn / 2), 0]
        )
        x[system.state.slice('v_ball')] = [-speed, 0, 0]
        margin = system.modes['slipping'].guards['painleve']
        assert float(margin(x, [], 0, [])) == pytest.approx(factor / MASS, rel=1e-6)
        motion = simulate(system, np.zeros(0), x, np.zeros(0), 1e-3)
        assert ('painleve' in [e.name for e in motion.events]) != determined


def _tip(mass, mu):
    machine = Machine('rod')
    machine.body('ball', free('ball'), mass)
    tip = Contact(body='ball', shape=Sphere(ca.SX(1e-9)), mu=mu, mu_kinetic=mu)
    machine.contact(tip)
    return HybridMachine(machine)


PATCH = 1e-3


def on_patch(patch=PATCH, mu=0.3):
    """Return a ball on the floor with a torque about the vertical, and what it begins from."""
    machine = Machine('ball')
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), ca.SX(EVEN)))
    torque = machine.control(Entry('torque', ('torque',), 'N m'))
    machine.torque(torque * ca.DM([0, 0, 1]), on='ball')
    machine.contact(
        Contact(body='ball', shape=Sphere(ca.SX(R)), mu=mu, mu_kinetic=mu, patch=patch)
    )
    return HybridMachine(machine)


def hertz(v, u):
    """Return friction over mu N, and torque over mu N a, by the integral over Hertz's pressure."""
    r, weights = np.polynomial.legendre.leggauss(120)
    angles = (np.arange(240) + 0.5) * math.pi / 120
    r, weights = (r[:, None] + 1) / 2, weights[:, None] / 2
    pressure = weights * r * 1.5 / math.pi * np.sqrt(1 - r**2) * math.pi / 120
    x, y = v - u * r * np.sin(angles), u * r * np.cos(angles)
    speed = np.hypot(x, y)
    turning = r * np.cos(angles) * y - r * np.sin(angles) * x
    return (pressure * x / speed).sum(), (pressure * turning / speed).sum()


@pytest.mark.parametrize('ratio', [0.01, 0.3, 1.0, 2.0, 5.0, 100.0])
def test_sliding_and_spinning_resist_as_hertz_pressure_has_it(ratio):
    """To 9 % of what either has alone between the limits, to 3 % of itself at them."""
    system, v = on_patch(), 0.2
    spin = ratio * v / PATCH
    x = system.state.pack(p_ball=[0, 0, R], v_ball=[v, 0, 0], w_ball=[0, 0, spin])
    wrench = np.array(system.modes['slipping'].wrench(x, 0, 0, [])).ravel()
    found = -wrench[[3, 2]] / (0.3 * MASS * G) / [1, PATCH]
    alone = np.array([1, 3 * math.pi / 16])
    for k, expected in enumerate(hertz(v, ratio * v)):
        assert found[k] == pytest.approx(expected, abs=0.09 * alone[k])
        if ratio in (0.01, 100.0):
            assert found[k] == pytest.approx(expected, rel=0.03)


def test_a_ball_that_spins_in_place_stops_by_the_torque_of_its_patch():
    system, spin = on_patch(), 5.0
    slows = 3 * math.pi / 16 * 0.3 * MASS * G * PATCH / EVEN
    x = system.state.pack(p_ball=[0, 0, R], w_ball=[0, 0, spin])
    motion = run(system, x, 1.1 * spin / slows)
    (stop,) = motion.events
    creep = 1e-6 / PATCH  # rad/s, below which it sticks
    assert stop.time == pytest.approx((spin - creep) / slows, rel=1e-6)
    np.testing.assert_array_equal(system.state.unpack(motion.states[-1])['w_ball'], 0)


def test_a_ball_that_spins_does_not_stick_and_one_without_patch_does():
    """Sliding ends as Coulomb has it, 2/7 of the speed spent, but the spin goes on to slip."""
    v = 1.4
    for patch, sticks in ((PATCH, False), (1e-5, False), (None, True)):
        system = on_patch(patch)
        x = system.state.pack(p_ball=[0, 0, R], v_ball=[v, 0, 0], w_ball=[0, 0, 40.0])
        motion = run(system, x, 0.5)
        assert [e.name for e in motion.events] == ['stick'] * sticks
        speed = system.state.unpack(motion.states[-1])['v_ball']
        np.testing.assert_allclose(speed, [5 / 7 * v, 0, 0], atol=1e-7)


@pytest.mark.parametrize(('over', 'slips'), [(0.99, False), (1.01, True)])
def test_one_limit_holds_force_and_torque(over, slips):
    """A ball on a slope that a torque turns: the limit is an ellipse of both."""
    system, part = on_patch(), 0.6
    limit = 3 * math.pi / 16 * 0.3 * MASS * G * PATCH
    x = system.state.pack(p_ball=[0, 0, R])
    s = system.begin([], x, [over * limit], 0.0)
    assert s.mode == ('slipping' if slips else 'rolling')
    force, torque = part * 0.3 * MASS * G, math.sqrt(1 - part**2) * limit
    held = system.machine.contacts[0].held_by(ca.vertcat(force, 0, 0, torque))
    assert float(ca.norm_2(ca.DM(held))) == pytest.approx(0.3 * MASS * G, rel=1e-12)


def test_fixed_steps_follow_sliding_and_spinning():
    system = on_patch()
    x = system.state.pack(p_ball=[0, 0, R], v_ball=[1.0, 0.5, 0], w_ball=[3.0, 0, 90.0])
    stepper = Stepper(system, np.zeros(0), through_modes=True)
    s = stepper.start(x, np.zeros(1))
    for _ in range(100):
        s = stepper.step(s, np.zeros(1), 1e-3)
    motion = run(system, x, 0.1)
    np.testing.assert_allclose(s.x, motion.states[-1], atol=1e-6)


@pytest.mark.slow
def test_an_impact_of_many_contacts_ends_and_tries_few_orders():
    """Six contacts have 720 orders; 24 of them are tried, each contact first in four."""
    assert sorted(map(tuple, orders(3))) == sorted(set(map(tuple, orders(3))))
    assert len(list(orders(3))) == 6
    tried = list(orders(6))
    assert len(tried) == 24
    assert all(sorted(order) == list(range(6)) for order in tried)
    assert [sum(o[0] == k for o in tried) for k in range(6)] == [4] * 6
    rng = np.random.default_rng(3)
    A = rng.normal(size=(18, 18))
    W, v = A @ A.T + 5 * np.eye(18), rng.normal(size=18)
    v[2::3] = -0.1 - rng.uniform(size=6)
    found = impact(W, v, [Friction(0.3, 0.3, 0.0)] * 6)  # in a second
    after = v + W @ found.impulse.ravel()
    assert after[2::3].min() > -1e-9


LEVER = 2e-3


def resisted(slope=0.0, lever=LEVER, mu=0.5):
    """Return a ball with rolling resistance on a plane that falls along x."""
    machine = Machine('ball')
    machine.gravity_W = ca.SX(G * ca.DM([math.sin(slope), 0, -math.cos(slope)]))
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), ca.SX(EVEN)))
    shape = Sphere(ca.SX(R))
    machine.contact(Contact(body='ball', shape=shape, mu=mu, mu_kinetic=mu, resistance=lever))
    return HybridMachine(machine)


@pytest.mark.parametrize('steps', [False, True])
def test_a_ball_comes_to_rest_where_and_when_the_lever_arm_says(steps):
    """It slows by (5/7) g e/R (Johnson 1985), rests, and stays there."""
    system, v = resisted(), np.array([0.3, 0.4, 0])
    slows = 5 / 7 * G * LEVER / R
    stop, way = 0.5 / slows, 0.5**2 / (2 * slows)
    turns = np.array([-v[1], v[0], 0]) / R
    x = system.state.pack(p_ball=[0, 0, R], v_ball=v, w_ball=turns)
    if steps:
        stepper = Stepper(system, np.zeros(0), through_modes=True)
        s, events = stepper.start(x, np.zeros(0)), []
        for _ in range(round(1.2 * stop / 1e-3)):
            s = stepper.step(s, np.zeros(0), 1e-3)
            events += s.events
        end, rest = s.x, events
    else:
        motion = run(system, x, 1.2 * stop)
        end, rest = motion.states[-1], motion.events
    assert [e.name for e in rest] == ['rest']
    creep = 1e-6 / LEVER * R  # m/s, below which it rests
    assert rest[0].time == pytest.approx(stop - creep / slows, rel=1e-7)
    last = system.state.unpack(end)
    np.testing.assert_allclose(last['p_ball'], [*way * v[:2] / 0.5, R], atol=1e-8)
    np.testing.assert_allclose(last['v_ball'], 0, atol=1e-15)


@pytest.mark.parametrize(('part', 'rests'), [(0.99, True), (1.01, False)])
def test_a_ball_rests_on_a_slope_up_to_the_lever_arm_over_its_radius(part, rests):
    slope = math.atan(part * LEVER / R)
    system = resisted(slope)
    x = system.state.pack(p_ball=[0, 0, R])
    s = system.begin([], x, [], 0.0)
    assert s.mode == ('resting' if rests else 'rolling')
    time = 2.0
    motion = run(system, x, time)
    found = system.state.unpack(motion.states[-1])['p_ball'][0]
    way = 5 / 14 * G * (math.sin(slope) - math.cos(slope) * LEVER / R) * time**2
    way += 3e-6 / LEVER * R * time  # it begins at three times the creep
    assert found == pytest.approx(0.0 if rests else way, rel=1e-6, abs=1e-9)


def test_a_ball_rolls_up_a_slope_rests_there_or_comes_back():
    """Up it is slowed by slope and lever arm together, down by their difference."""
    for part, back in ((0.8, False), (1.5, True)):
        slope = math.atan(part * LEVER / R)
        system, v = resisted(slope), -0.2
        x = system.state.pack(p_ball=[0, 0, R], v_ball=[v, 0, 0], w_ball=[0, v / R, 0])
        up, over = 5 / 7 * G * math.sin(slope), 5 / 7 * G * math.cos(slope) * LEVER / R
        motion = run(system, x, 2 * abs(v) / (up + over))
        assert [e.name for e in motion.events] == (['turn'] if back else ['rest'])
        assert motion.events[0].time == pytest.approx(abs(v) / (up + over), rel=1e-3)


@pytest.mark.parametrize('v', [0.02, 0.5])
def test_a_spinning_ball_slides_on_where_its_resistance_stops_the_turning(v):
    """With a lever arm over which friction, weak beside the spin, hardly turns it: it spins on."""
    radius, lever, spin, patch = 0.108, 2e-2, 20.0, 2e-3
    machine = Machine('ball')
    even = ca.SX(0.4 * MASS * radius**2)
    machine.body('ball', free('ball'), Revolution(ca.SX(MASS), even))
    shape, friction = Sphere(ca.SX(radius)), {'mu': 0.3, 'mu_kinetic': 0.3}
    machine.contact(Contact(body='ball', shape=shape, resistance=lever, patch=patch, **friction))
    system = HybridMachine(machine)
    x = system.state.pack(p_ball=[0, 0, radius], v_ball=[v, 0, 0], w_ball=[0, 0, spin])
    motion = run(system, x, 1.0)
    assert motion.times[-1] == 1.0
    assert len(motion.times) < 2000
    last = system.state.unpack(motion.states[-1])
    slows = 3 * math.pi / 16 * 0.3 * G * patch / (0.4 * radius**2)
    assert spin - 1.001 * slows < np.linalg.norm(last['w_ball']) < spin
    assert np.linalg.norm(last['v_ball']) < v


def test_resistance_without_kinetic_friction_is_refused():
    with pytest.raises(ParameterError, match="the contact of 'ball': resistance needs a mu_kin"):
        Contact(body='ball', shape=Sphere(ca.SX(R)), resistance=LEVER)


def test_batches_go_through_rest_and_through_sliding_with_spin(monkeypatch):
    """Balls stop where the lever arm says, others slide and spin as each alone."""
    monkeypatch.setenv('ROLLING_COMPILE', 'never')
    system, v, slows = resisted(), np.array([0.05, 0.1]), 5 / 7 * G * LEVER / R
    x = [system.state.pack(p_ball=[0, 0, R], v_ball=[k, 0, 0], w_ball=[0, k / R, 0]) for k in v]
    batch = BatchSimulator(system, 2, 1.1 * v[1] / slows / 20, method='DOP853')
    batch.reset(states=np.array(x), parameters=np.zeros(0))
    for _ in range(20):
        batch.step(np.zeros(0))
    assert batch.modes.tolist() == ['resting'] * 2
    np.testing.assert_allclose(batch.states[:, 0], v**2 / (2 * slows), atol=1e-8)
    system = on_patch()
    x = [system.state.pack(p_ball=[0, 0, R], v_ball=[k, 0, 0], w_ball=[0, 0, 40]) for k in v]
    batch = BatchSimulator(system, 2, 0.01, method='DOP853')
    batch.reset(states=np.array(x), parameters=np.zeros(0))
    batch.step(np.zeros(1))
    for start, end in zip(x, batch.states, strict=True):
        np.testing.assert_allclose(end, run(system, start, 0.01).states[-1], atol=1e-10)


def test_plans_keep_force_and_spin_torque_in_one_limit():
    """The limit of spin is zero on the ellipse of which the guard is."""
    system, part = on_patch(), 0.6
    x, limit = system.state.pack(p_ball=[0, 0, R]), SPINNING * 0.3 * MASS * G * PATCH
    envelope = system.parts['rolling'].envelope
    assert float(envelope['friction'](x, [limit], 0, [])) == pytest.approx(0.09, rel=1e-8)
    assert float(envelope['spin'](x, [limit], 0, [])) == pytest.approx(0, abs=1e-9)
    assert float(envelope['spin'](x, [part * limit], 0, [])) == pytest.approx(
        0.09 * (1 - part**2), rel=1e-8
    )


def test_plans_and_laws_have_a_resistance_with_derivatives_at_rest():
    """Slower than 0.03 rad/s it is proportional to the rate, faster it is as it rolls."""
    system = resisted()
    smooth, u, t = system.smooth_mode.dynamics, np.zeros(0), 0.0
    speed = system.state.slice('v_ball').start

    def slows(f, rate):
        x = system.state.pack(p_ball=[0, 0, R], v_ball=[rate * R, 0, 0], w_ball=[0, rate, 0])
        return -float(np.array(f(x, u, t, [])).ravel()[speed])

    dry, rolls = 5 / 7 * G * LEVER / R, system.modes['rolling'].dynamics
    assert slows(rolls, 1e-3) == pytest.approx(dry, rel=1e-9)
    for rate in (1e-6, 0.03, 3.0):
        expected = dry * rate / math.hypot(rate, 0.03)
        assert slows(smooth, rate) == pytest.approx(expected, rel=1e-6)
    assert on_patch().mode.dynamics.serialize() == (
        on_patch().modes['rolling'].dynamics.serialize()
    )


@pytest.mark.slow
def test_a_plan_against_dry_resistance_is_followed_to_rest(tmp_path):
    """From rest to rest by a force: planned with a smooth resistance, driven with a dry one."""
    contact = {'mu': 0.3, 'mu_kinetic': 0.3, 'resistance': 1e-3, 'patch': 1e-3}
    document = {
        'system': 'machine',
        'machine': {
            'bodies': {'ball': {'kind': 'ball', 'radius': R, 'mass': MASS}},
            'joints': {'ball': {'kind': 'free'}},
            'contacts': {'ball': contact},
            'drives': {'push': {'kind': 'force', 'body': 'ball', 'limit': 1.0}},
        },
        'initial': {'p_ball': [0, 0, R]},
        'plan': {'goal': {'p_ball': [0.3, 0.1, R]}, 'horizon': 2.0},
        'duration': 2,
    }
    (path := tmp_path / 'scenario.yaml').write_text(yaml.safe_dump(document))
    s = load_scenario(path)
    plan = plan_rolling(read_problem(s))
    law = TimeVaryingLqr(s.system, s.p, plan)
    driven = run_lockstep(s.system, s.p, s.x0, law, 2.0)
    end = s.system.state.unpack(driven.states[-1])
    np.testing.assert_allclose(end['p_ball'], [0.3, 0.1, R], atol=1e-4)
    np.testing.assert_allclose(end['v_ball'], 0, atol=1e-12)
    assert driven.events[-1].name == 'rest'


@pytest.mark.parametrize('push', [0.0, -0.5, 0.5])
def test_a_ball_that_touches_a_wall_stays_where_nothing_pushes_it(push):
    """A wall that carries nothing but rounding holds nothing: friction there does not chatter."""
    contact = {'body': 'ball', 'mu': 0.3, 'mu_kinetic': 0.2}
    machine = {
        'bodies': {'ball': {'kind': 'ball', 'radius': 0.05, 'mass': 1}},
        'joints': {'ball': {'kind': 'free'}},
        'contacts': {'floor': contact, 'wall': {**contact, 'normal': [-1, 0, 0]}},
        'gravity': [push, 0, -9.81],
    }
    given = {'system': 'machine', 'machine': machine, 'duration': 0.2}
    scenario = load_scenario({**given, 'initial': {'p_ball': [-0.05, 0, 0.05]}})
    run = simulate(scenario.system, scenario.p, scenario.x0, None, 0.2)
    assert run.end == 0.2
    along = run.states[-1][scenario.system.state.slice('p_ball')][0] + 0.05
    assert along == pytest.approx(min(5 / 7 * push, 0) * 0.2**2 / 2, abs=1e-9)
    assert [e.name for e in run.events] == ['lift_off'] * (push <= 0)
