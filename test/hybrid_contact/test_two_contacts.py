"""A body that touches a hand in two points: against planes, closed forms and balances."""

from functools import lru_cache

import casadi as ca
from hybrid_samples import energy_balance, INERTIA, world_motion
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.contract.contact_forces import contact_forces
from rolling_dynamics.contract.rolling_system import quaternion_entry, vector_entry
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.hybrid_contact.emulated_object import hybrid_views
from rolling_dynamics.hybrid_contact.hand_contacts import touches_once
from rolling_dynamics.mechanism import Contact, Free, Machine, Solid
from rolling_dynamics.mechanism.shapes import Plane
from rolling_dynamics.mechanism.shapes import Sphere as Ball
from rolling_dynamics.mechanism.transitions import HybridMachine
from rolling_dynamics.simulation import simulate, Stepper
from rolling_dynamics.surfaces import Ellipsoid, Sphere
from rolling_dynamics.surfaces.surface import Chart, Surface

TIGHT = {'rtol': 1e-10, 'atol': 1e-12}
R, MASS, G = 0.1, 0.1, 9.81
REST = {
    'q_WH': [1, 0, 0, 0],
    'p_WH': [0, 0, 0],
    'w_WH_H': [0, 0, 0],
    'v_WH_H': [0, 0, 0],
}
ON_WALL = np.array([-0.3 + R / np.sqrt(2), 0, 0.3 + R / np.sqrt(2)])
IN_GROOVE = np.array([0, 0, np.sqrt(2) * R])


@lru_cache(maxsize=4)
def over_groove(rounding, *body, dry=False):
    """Return a body over a groove along y between walls at 45 degrees; built once."""
    uv = ca.SX.sym('uv', 2)
    position = ca.vertcat(uv, ca.sqrt(rounding**2 + uv[0] ** 2))
    groove = Surface(
        name='chart',
        parameters=ca.SX(0, 1),
        values={},
        charts=(Chart(name='c', coordinates=uv, position=position),),
    )
    surface = Sphere(*body) if len(body) == 1 else Ellipsoid(*body)
    return HybridContactSystem(surface, groove, dry=dry)


def posed(p_HO_H, v=(0, 0, 0), w=(0, 0, 0), **given):
    """Return a ball over a sharp groove, its parameters and its state."""
    s = over_groove(1e-7, R)
    friction = {'mu': 0.6, 'mu_kinetic': 0.5}
    p = s.pack_parameters(
        mass=MASS, inertia=0.4 * MASS * R**2, edges=(-1, 1, -9, 9), **(friction | given)
    )
    at = {'q_HO': [1, 0, 0, 0], 'p_HO_H': p_HO_H, 'v_HO_H': v, 'w_HO_H': w}
    return s, p, s.state.pack(contact_h=[-0.1, 0], **at, **REST)


def between_planes(mu, mu_kinetic, restitution):
    """Return the same ball as a machine with a contact on each of two planes."""
    machine = Machine('vee')
    free = Free(
        position=vector_entry('p', 'm', 'W'),
        attitude=quaternion_entry('q'),
        velocity=vector_entry('v', 'm/s', 'W'),
        speed=vector_entry('w', 'rad/s', 'W'),
        axes='world',
    )
    machine.body('ball', free, Solid(ca.SX(MASS), 0.4 * MASS * R**2 * ca.SX.eye(3)))
    for side in (1, -1):
        contact = Contact(
            body='ball',
            shape=Ball(ca.SX(R)),
            mu=mu,
            mu_kinetic=mu_kinetic,
            restitution=restitution,
            surface=Plane((side * np.sqrt(0.5), 0, np.sqrt(0.5))),
        )
        machine.contact(contact)
    return HybridMachine(machine)


def modes(run):
    return [next(iter(segment.system.modes)) for segment in run.segments]


@pytest.mark.parametrize(
    ('motion', 'friction', 'duration', 'last'),
    [
        ((ON_WALL, (0, 0.2, 0), (0, 0, 0)), (0.6, 0.5, 0.0), 0.8, 'rolling_rolling'),
        ((ON_WALL, (0, 0.2, 0), (0, 0, 0)), (0.1, 0.05, 0.0), 0.5, 'rolling_rolling'),
        (([0.05, 0, 0.4], (0.3, 0.1, 0), (3, -2, 5)), (0.3, 0.2, 0.5), 0.9, 'separated_separated'),
    ],
    ids=['rolls', 'slips', 'bounces'],
)
def test_ball_in_a_groove_moves_as_a_machine_on_two_planes(motion, friction, duration, last):
    """It rolls down one wall, rocks between both and stays; slips on both; bounces on both."""
    names = 'mu', 'mu_kinetic', 'restitution'
    s, p, x = posed(*motion, **dict(zip(names, friction, strict=True)))
    run = simulate(s, p, x, None, duration, **TIGHT)
    other = between_planes(*friction)
    place, v, w = motion
    y = other.state.pack(p=place, q=[1, 0, 0, 0], v=v, w=w)
    planes = simulate(other, [], y, None, duration, **TIGHT)
    assert [e.name for e in run.events] == [e.name for e in planes.events]
    assert_allclose([e.time for e in run.events], [e.time for e in planes.events], atol=1e-9)
    assert modes(run)[-1] == last
    for t in np.linspace(0, duration, 41):
        a, b = s.state.unpack(run.state_at(t)), other.state.unpack(planes.state_at(t))
        for name, same in (('p_HO_H', 'p'), ('v_HO_H', 'v'), ('w_HO_H', 'w')):
            assert_allclose(a[name], b[same], atol=1e-8)


def test_each_impact_between_the_walls_keeps_two_sevenths_of_the_speed():
    """Walls are at right angles: about the new contact only the spin of the ball counts."""
    s, p, x = posed(ON_WALL)
    run = simulate(s, p, x, None, 0.62, **TIGHT)
    landings = [e for e in run.events if e.name == 'landing']
    assert len(landings) == 2
    v = s.state.slice('v_HO_H')
    for e in landings:
        before = np.linalg.norm(run.state_at(e.time - 1e-9)[v])
        assert np.linalg.norm(e.state[v]) / before == pytest.approx(2 / 7, rel=1e-6)


def test_ball_rests_in_a_groove_until_the_hand_pushes_it_out():
    """Over a hand with acceleration a along x, the far wall carries nothing from a = g on."""
    s, p, x = posed(IN_GROOVE)
    push = np.zeros((2, 6))
    push[1, 3] = 2 * G
    run = simulate(s, p, x, ([0, 1], push), 0.6, **TIGHT)
    (parts,) = [e for e in run.events if e.name == 'lift_off']
    assert parts.time == pytest.approx(0.5, abs=1e-7)
    assert modes(run)[0] == 'rolling_rolling'
    assert modes(run)[-1] == 'rolling_separated'
    u = run.control_at(0.2)
    wrench = np.array(s.modes['rolling_rolling'].wrench(run.state_at(0.2), u, 0.2, p)).ravel()
    force = np.array(s.contact_frame(x, p))[:3, :3] @ wrench[3:]
    assert_allclose(force, [MASS * u[3], 0, MASS * G], atol=1e-9)


@pytest.mark.parametrize('slope', [0.3, 1.2])
def test_ball_rolls_and_slips_down_a_groove(slope):
    """By g sin b / (1 + 4/5) where it rolls, by g sin b - 2 mu N / m where it slips."""
    gravity = G * np.array([0, np.sin(slope), -np.cos(slope)])
    s, p, x = posed(IN_GROOVE, gravity_W=gravity)
    run = simulate(s, p, x, None, 0.3, **TIGHT)
    rolls, slips = np.sin(slope) / 1.8, np.sin(slope) - 2 * 0.5 * np.cos(slope) / np.sqrt(2)
    slides = (np.sin(slope) - rolls) / 2 > 0.6 * np.cos(slope) / np.sqrt(2)
    assert slides == (slope > 1)
    assert set(modes(run)) == {'slipping_slipping' if slides else 'rolling_rolling'}
    travel = run.states[-1][s.state.slice('p_HO_H')][1]
    assert travel == pytest.approx(G * (slips if slides else rolls) * 0.3**2 / 2, abs=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize('seed', range(4))
def test_thrown_ellipsoid_gains_no_energy_and_keeps_newtons_laws(seed):
    """In a round groove of a hand that shakes: balances in the world, closed contacts stay so."""
    s, rng = over_groove(0.02, 0.09, 0.11, 0.1), np.random.default_rng(seed)
    p = s.pack_parameters(
        mass=0.3, inertia=INERTIA, mu=0.5, mu_kinetic=0.4, restitution=0.4, edges=(-1, 1, -9, 9)
    )
    q = rng.normal(size=4)
    at = {'q_HO': q / np.linalg.norm(q), 'p_HO_H': [0.02, 0, 0.3], 'contact_h': [0.1, 0]}
    moves = {'v_HO_H': 0.5 * rng.normal(size=3), 'w_HO_H': 3 * rng.normal(size=3)}
    shaken = np.linspace(0, 1.2, 13), rng.normal(size=(13, 6))
    run = simulate(s, p, s.state.pack(**at, **moves, **REST), shaken, 1.2, **TIGHT)
    assert run.terminal_event is None
    assert np.diff(energy_balance(s, run, p)).max() < 5e-8
    both = 0
    for phase in run.segments:
        mode = next(iter(phase.system.modes))
        if '_' not in mode or phase.end - phase.start < 1e-3:
            continue
        t, h = (phase.start + phase.end) / 2, 1e-5
        times = np.array([t - h, t, t + h])
        before, now, after = phase.interpolate(times)
        gaps, v = (np.array(a) for a in s.pair.contact_motion(now, p))
        closed = [i for i in range(2) if s.phase(mode, i) != 'separated']
        both += len(closed) == 2
        assert_allclose(gaps[closed], 0, atol=1e-9)
        assert_allclose(v[2, closed], 0, atol=1e-8)
        (v0, L0, _), (v1, L1, _) = (world_motion(s, x, p) for x in (before, after))
        wrench = np.array(s.modes[mode].wrench(now, run.control_at(t), t, p)).ravel()
        X = np.array(s.contact_frame(now, p))
        force = X[:3, :3] @ wrench[3:]
        assert_allclose(0.3 * ((v1 - v0) / (2 * h) + [0, 0, G]), force, atol=1e-4)
        arm = X[:3, 3] - np.array(s.pose(now, p)[1])[:3, 3]
        torque = X[:3, :3] @ wrench[:3] + np.cross(arm, force)
        assert_allclose((L1 - L0) / (2 * h), torque, atol=1e-4)
    assert both
    assert 'landing' in {e.name for e in run.events}


def test_fixed_steps_and_views_go_through_two_contacts():
    s, p, x = posed(ON_WALL)
    run = simulate(s, p, x, None, 0.7, **TIGHT)
    stepper = Stepper(s, p)
    state = stepper.start(x, np.zeros(6))
    for _ in range(70):
        state = stepper.step(state, np.zeros(6), 0.01)
    assert (state.mode, state.published_mode) == ('rolling_rolling', 'rolling')
    assert_allclose(state.x[:26], run.states[-1][:26], atol=1e-6)
    seen = hybrid_views(s)[state.mode](state.x, np.zeros(6), 0.0, state.p)
    assert_allclose(seen[26:42].reshape(4, 4).T[:3, :3] @ seen[45:48], [0, 0, MASS * G], atol=1e-9)


def test_the_force_at_the_contacts_is_known_in_every_mode():
    """Over several points of the hand it is the force in all: here it carries the ball."""
    s, p, x = posed(IN_GROOVE)
    x[s.state.slice('contact_2')] = 0.1, 0.0
    for mode in s.modes:
        assert contact_forces(s, mode).names == ('',)
    held = np.array(contact_forces(s, 'rolling_rolling').forces(x, np.zeros(6), 0.0, p))
    assert np.linalg.norm(held) == pytest.approx(MASS * G, rel=1e-9)


def test_which_hands_a_body_may_touch_twice():
    assert touches_once(Sphere(0.11), Ellipsoid(0.35, 0.25, 0.2, side='inside'))
    assert not touches_once(Sphere(0.12), Ellipsoid(0.35, 0.25, 0.2, side='inside'))
    assert touches_once(Ellipsoid(0.1, 0.2, 0.3), Sphere(0.1))


@pytest.mark.parametrize(
    ('mu', 'then'),
    [(1.2, 'rolling'), (0.3, 'slipping'), (0.335, 'slipping')],  # the last holds on two alone
)
def test_motion_goes_on_where_one_of_two_contacts_passes_an_edge(mu, then):
    """The body stands askew in the groove: one contact comes to the edge, the other holds it."""
    s, yaw = over_groove(1e-7, 0.1, 0.16, 0.1), 0.5
    friction = {'mu': mu, 'mu_kinetic': 0.8 * mu}
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, edges=(-1, 1, -9, 0.044), **friction)
    feet = {'contact_h': [-0.08846191, 0.04273758], 'contact_2': [0.08846191, -0.04273758]}
    at = {'q_HO': [np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)], 'p_HO_H': [0, 0, 0.15357618]}
    x = s.state.pack(v_HO_H=[0, 0.1, 0], w_HO_H=[-1, 0, 0], **at, **feet, **REST)
    x = np.array(s.modes['rolling_rolling'].projection(x, p)).ravel()
    run = simulate(s, p, x, None, 0.03, **TIGHT)
    edge = next(e for e in run.events if e.name == 'edge')
    assert not edge.terminal
    assert run.times[-1] == 0.03
    assert s.state.unpack(run.state_at(edge.time - 1e-9))['contact_h'][1] == pytest.approx(0.044)
    assert modes(run)[-1] == then
    after = s.state.unpack(run.states[-1])
    assert after['contact_h'][1] < 0  # of the other one
    if then == 'rolling':
        assert [e.name for e in run.events] == ['edge']
        energy = s.invariants['energy']
        values = [float(energy(run.state_at(t), [], t, p)) for t in (0.0, edge.time, 0.03)]
        assert_allclose(values, values[0], rtol=0, atol=1e-11)


def test_a_patch_holds_a_ball_in_a_groove_up_to_its_limit():
    """
    Along a tilted groove m g sin(a) R/2^.5 rests on both patches, whose torques are mu_spin N.

    Where friction wedges the ball between the walls, N is up to 1/(1 - mu) times as great.
    """
    s = over_groove(1e-7, R)
    friction = {'mu': 0.6, 'mu_kinetic': 0.5, 'mu_spin': 4e-3}
    p = s.pack_parameters(mass=MASS, inertia=0.4 * MASS * R**2, edges=(-1, 1, -9, 9), **friction)
    at = {'q_HO': [1, 0, 0, 0], 'p_HO_H': IN_GROOVE, 'v_HO_H': [0] * 3, 'w_HO_H': [0] * 3}
    x = s.state.pack(contact_h=[-0.1, 0], **at, **REST)
    limit = np.arctan(np.sqrt(2) * 4e-3 / R)
    for part, mode in ((0.9, 'pure_rolling_pure_rolling'), (2.6, 'slipping_slipping')):
        a = part * limit
        x[:4] = np.cos(a / 2), np.sin(a / 2), 0, 0
        assert s.begin(p, x, np.zeros(6)).mode == mode
