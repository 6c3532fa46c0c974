"""Sliding, flight and landing on a hand of any shape: closed forms, balances, the plate."""

from functools import lru_cache
from itertools import pairwise

import casadi as ca
from hybrid_samples import energy_balance, INERTIA, jump_work, MASS, system, world_motion
import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.hybrid_contact import HybridContactSystem
from rolling_dynamics.hybrid_contact.system import closest_points
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, Sphere
from rolling_dynamics.surfaces.surface import Chart, Surface
from scipy.integrate import solve_ivp
from transforms3d.euler import euler2quat

FRICTION = {'mu': 0.5, 'mu_kinetic': 0.35, 'mu_spin': 1e-3, 'rolling_resistance': 1e-5}
TIGHT = {'rtol': 1e-10, 'atol': 1e-12}
BODY = (0.05, 0.06, 0.08)
REST = {
    'q_WH': [1, 0, 0, 0],
    'p_WH': [0, 0, 0],
    'w_WH_H': [0, 0, 0],
    'v_WH_H': [0, 0, 0],
}
STILL = {'q_HO': [1, 0, 0, 0], 'w_HO_H': [0, 0, 0], 'v_HO_H': [0, 0, 0]}
BOTTOM = [np.pi / 2, -np.pi / 2]  # of a dish whose chart has its poles on x
RADIUS, BALL, G = 0.5, 0.05, 9.81


def chart(position):
    """Return the surface of a chart (u, v) -> position."""
    uv = ca.SX.sym('uv', 2)
    return Surface(
        name='chart',
        parameters=ca.SX(0, 1),
        values={},
        charts=(Chart(name='c', coordinates=uv, position=position(uv[0], uv[1])),),
    )


@lru_cache(maxsize=4)
def over(hand, body=None):
    """Return the system of a body over a hand; built once."""
    return HybridContactSystem(body or Ellipsoid(*BODY), hand)


def skewed_plane():
    return chart(lambda u, v: ca.vertcat(u + 0.3 * v, 1.5 * v + 0.1 * u**2, 0))


def thrown(seed):
    """Return attitude and velocities of a throw."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    return {
        'q_HO': q / np.linalg.norm(q),
        'w_HO_H': 3 * rng.normal(size=3),
        'v_HO_H': [*0.4 * rng.normal(size=2), -0.5],
    }


def shaken(seed):
    return np.linspace(0, 0.6, 7), 2.0 * np.random.default_rng(seed).normal(size=(7, 6))


def pose(run):
    return np.array(run.segments[-1].system.pose(run.states[-1], run.segments[-1].parameters)[1])


@pytest.mark.parametrize('seed', range(2))
def test_plane_in_another_chart_is_the_plate(seed):
    """A skewed, curved chart of the plane changes nothing: landing, slip, spin, shaking."""
    flat, other = system(*BODY), over(skewed_plane())
    runs = []
    for s, more in ((flat, {}), (other, {'contact_h': [0.0, 0.0]})):
        p = s.pack_parameters(mass=MASS, inertia=INERTIA, **FRICTION)
        x = s.state.pack(p_HO_H=[0, 0, 0.12], **REST, **thrown(seed), **more)
        runs.append(simulate(s, p, x, shaken(seed), 0.6, **TIGHT))
    names, times = ([[getattr(e, k) for e in r.events] for r in runs] for k in ('name', 'time'))
    assert names[0] == names[1]
    assert 'landing' in names[0]
    assert_allclose(times[1], times[0], atol=1e-9)
    assert_allclose(pose(runs[1]), pose(runs[0]), atol=1e-8)


@pytest.mark.slow
def test_a_flatter_and_flatter_bowl_becomes_the_plate():
    flat = system(*BODY)
    p = flat.pack_parameters(mass=MASS, inertia=INERTIA, **FRICTION)
    x = flat.state.pack(p_HO_H=[0, 0, 0.12], **REST, **thrown(0))
    plate = pose(simulate(flat, p, x, None, 0.4, **TIGHT))
    away = []
    for R in (1e2, 1e3, 1e4):
        s = over(Sphere(R, side='inside', pole='x'))
        q = s.pack_parameters(mass=MASS, inertia=INERTIA, **FRICTION)
        y = s.state.pack(p_HO_H=[0, 0, 0.12 - R], contact_h=BOTTOM, **REST, **thrown(0))
        bowl = pose(simulate(s, q, y, None, 0.4, **TIGHT))
        away.append(np.abs(bowl - plate - [[0] * 4, [0] * 4, [0, 0, 0, -R], [0] * 4]).max())
    assert away[0] / away[1] == pytest.approx(10, rel=0.1)  # as the curvature
    assert away[1] / away[2] == pytest.approx(10, rel=0.1)


def bowl(radius=RADIUS, body=BALL):
    return over(Sphere(radius, side='inside', pole='x'), Sphere(body))


def in_bowl(s, angle, **given):
    """Return a state in which the ball touches the bowl, an angle from the bottom along y."""
    d = np.array([0, np.sin(angle), -np.cos(angle)])
    values = STILL | given
    return s.state.pack(
        p_HO_H=(RADIUS - BALL) * d, contact_h=[np.pi / 2, angle - np.pi / 2], **REST, **values
    )


def test_ball_rolls_in_a_bowl_as_a_pendulum_of_seven_fifths():
    """(7/5) theta'' = -g sin(theta) / (R - r), from rest."""
    s = bowl()
    p = s.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * BALL**2, mu=2.0)
    times = np.linspace(0, 1.5, 31)
    run = simulate(s, p, in_bowl(s, 0.9), None, 1.5, t_eval=times, **TIGHT)
    assert not run.events
    place = run.states[:, s.state.slice('p_HO_H')]
    rate = 5 / 7 * G / (RADIUS - BALL)
    closed = solve_ivp(
        lambda _, y: [y[1], -rate * np.sin(y[0])],
        (0, 1.5),
        [0.9, 0],
        t_eval=times,
        rtol=1e-12,
        atol=1e-13,
    ).y[0]
    assert_allclose(np.arctan2(place[:, 1], -place[:, 2]), closed, atol=1e-8)
    assert_allclose(np.linalg.norm(place, axis=1), RADIUS - BALL, atol=1e-10)


def test_ball_without_friction_is_a_spherical_pendulum():
    s = bowl()
    p = s.pack_parameters(mass=0.1, inertia=0.4 * 0.1 * BALL**2, mu=0.0)
    spin = [1.0, -2.0, 3.0]
    x = in_bowl(s, 0.6, v_HO_H=[0.8, 0, 0], w_HO_H=spin)
    times = np.linspace(0, 1.2, 13)
    run = simulate(s, p, x, None, 1.2, t_eval=times, **TIGHT)
    L = RADIUS - BALL
    r0 = x[s.state.slice('p_HO_H')]

    def pendulum(_, y):
        r, v = y[:3], y[3:]
        g = np.array([0, 0, -G])
        return [*v, *(g - r * (g @ r + v @ v) / L**2)]

    closed = solve_ivp(
        pendulum, (0, 1.2), [*r0, 0.8, 0, 0], t_eval=times, rtol=1e-12, atol=1e-13
    ).y[:3]
    assert_allclose(run.states[:, s.state.slice('p_HO_H')], closed.T, atol=1e-8)
    assert_allclose(run.states[:, s.state.slice('w_HO_H')], np.tile(spin, (13, 1)), atol=1e-9)
    assert {e.name for e in run.events} <= {'slip'}


def thrown_into_the_bowl(seed, **more):
    """Return a throw of an ellipsoid into a bowl of 0.5 m, and its run."""
    s = over(Sphere(RADIUS, side='inside', pole='x'))
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, **FRICTION, **more)
    rng = np.random.default_rng(seed)
    place = [*rng.uniform(-0.12, 0.12, 2), -0.3]
    x = s.state.pack(p_HO_H=place, contact_h=BOTTOM, **REST, **thrown(seed))
    return s, p, simulate(s, p, x, None, 0.5, **TIGHT)


def balances(seed, **more):
    """
    Energy never rises, and each jump is an impulse at the contact; return the events.

    Where slip begins and ends, the patch turns the body about the normal too.
    """
    s, p, run = thrown_into_the_bowl(seed, **more)
    weight = MASS * G * RADIUS
    balance = energy_balance(s, run, p)
    assert np.diff(balance).max() < 1e-9 * weight, seed
    phases = run.segments
    for a, b in pairwise(phases):
        before = a.interpolate(np.array([a.end]))[0]
        after = b.interpolate(np.array([b.start]))[0]
        (v0, L0, _), (v1, L1, _) = (world_motion(s, z, p) for z in (before, after))
        P, p_HO = MASS * (v1 - v0), s.state.unpack(before)['p_HO_H']
        arm = np.array(s.touch(before, p)[2]).ravel() - p_HO
        R = np.array(s.contact_frame(before, p))[:3, :3]
        P_Ch, turn = R.T @ P, R.T @ (L1 - L0 - np.cross(arm, P))
        assert_allclose(turn, [0, 0, turn[2]], atol=1e-15)
        assert abs(turn[2]) <= (1e-15 if np.linalg.norm(P) > 1e-5 else 8e-9)
        assert np.hypot(*P_Ch[:2]) <= FRICTION['mu'] * abs(P_Ch[2]) + 1e-7
        assert jump_work(s, before, after, p) == 0  # the bowl rests
    return [e.name for e in run.events]


@pytest.mark.slow
def test_energy_and_momentum_of_throws_into_a_bowl():
    assert 'landing' in balances(0)
    assert balances(3, restitution=0.6).count('landing') > 1


@pytest.mark.slow
def test_energy_and_momentum_of_a_hundred_throws_into_a_bowl():
    for seed in range(100):
        balances(seed, restitution=0.5 * (seed % 2))


def test_contact_in_two_points_is_told():
    """A ball that is too large for a trough touches both of its sides, and stays there."""
    humps = chart(lambda u, v: ca.vertcat(u, v, 0.2 * u**2 - 0.8 * u**4))
    s = over(humps, Sphere(20.0))
    p = s.pack_parameters(mass=0.1, inertia=1.0, edges=(-0.6, 0.6, -0.6, 0.6))
    x = s.state.pack(p_HO_H=[0, 0, 20.1], contact_h=[0.3, 0], **REST, **STILL)
    found = closest_points(s, p, x)
    assert len(found) == 2
    assert found[0].uv == pytest.approx((-found[1].uv[0], 0), abs=1e-8)
    assert abs(found[0].uv[0]) == pytest.approx(0.35, abs=0.02)
    run = simulate(s, p, x, None, 1.0, **TIGHT)
    assert [e.name for e in run.events] == ['landing', 'impact_order']
    assert next(iter(run.segments[-1].system.modes)) == 'rolling_rolling'
    assert_allclose(run.states[-1][s.state.slice('v_HO_H')], 0, atol=1e-7)
    p[s.parameters.slice('mu_spin')] = 1e-3
    run = simulate(s, p, x, None, 1.0, **TIGHT)
    assert [e.name for e in run.events] == ['landing', 'impact_order']
    assert next(iter(run.segments[-1].system.modes)) == 'pure_rolling_pure_rolling'


def test_object_beside_the_hand_is_refused():
    s = over(skewed_plane())
    p = s.pack_parameters(mass=MASS, inertia=INERTIA, edges=(-0.1, 0.1, -0.1, 0.1))
    x = s.state.pack(p_HO_H=[3, 0, 0.2], contact_h=[0, 0], **REST, **thrown(0))
    with pytest.raises(ParameterError, match='the object is not over the hand'):
        s.begin(p, x, np.zeros(6))


def test_tilted_dish_at_rest_is_told_of_no_contact_elsewhere():
    """The far side of a bowl, and the back of a ball, are not closest points."""
    s = bowl()
    p = s.pack_parameters(mass=0.1, inertia=1e-4)
    x = in_bowl(s, 0.3, q_HO=euler2quat(0.1, 0.2, 0.3))
    (only,) = closest_points(s, p, x)
    assert only.uv == pytest.approx((np.pi / 2, 0.3 - np.pi / 2), abs=1e-9)
    ball = over(Sphere(0.3, pole='x'), Sphere(BALL))
    p = ball.pack_parameters(mass=0.1, inertia=1e-4)
    x = ball.state.pack(p_HO_H=[0, 0, 0.4], contact_h=[np.pi / 2, 1.2], **REST, **STILL)
    (only,) = closest_points(ball, p, x)
    assert only.gap == pytest.approx(0.05, abs=1e-12)
