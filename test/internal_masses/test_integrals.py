"""Integrals of motion over 100 s, and flight."""

import numpy as np
import pytest
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle, Ellipse
from rolling_dynamics.simulation import simulate

DRIFT = 1e-10


def drift(trajectory, name):
    values = trajectory.evaluate(lambda s: s.invariants[name])[:, 0]
    return float(np.abs(values - values[0]).max())


def run(ball, p, x0, duration=100.0):
    return simulate(
        ball,
        p,
        x0,
        None,
        duration,
        events={'normal_force': 'ignore', 'friction': 'ignore'},
        rtol=3e-14,
        atol=1e-16,
    )


def test_routh_sphere():
    """Energy, Jellett and Routh of a sphere with an axis of symmetry and an offset centre."""
    ball = PointMassBall()
    p = ball.pack_parameters(
        mass=1.0, inertia=[0.35, 0.35, 0.42], radius=1.0, centre_of_mass=[0, 0, -0.2]
    )
    x0 = ball.state.pack(
        q_WB=np.array([0.8, 0.5, 0.2, 0.1]) / np.linalg.norm([0.8, 0.5, 0.2, 0.1]),
        w_WB_B=[0.4, -0.7, 2.0],
        p=[0, 0],
    )
    trajectory = run(ball, p, x0)
    for name in ('energy', 'jellett', 'routh'):
        assert drift(trajectory, name) < DRIFT, name
    assert drift(trajectory, 'contact_momentum_x') > 1e-2  # no integral here


def test_balanced_chaplygin_ball():
    """Energy and all of the angular momentum about the contact point, any inertia."""
    ball = PointMassBall()
    inertia = [[0.5, 0.05, 0.02], [0.05, 0.6, -0.03], [0.02, -0.03, 0.75]]
    p = ball.pack_parameters(mass=1.3, inertia=inertia, radius=1.0)
    x0 = ball.state.pack(q_WB=[1, 0, 0, 0], w_WB_B=[1.1, -0.4, 0.8], p=[0, 0])
    trajectory = run(ball, p, x0)
    for name in ('energy', *(f'contact_momentum_{k}' for k in 'xyz')):
        assert drift(trajectory, name) < DRIFT, name
    assert drift(trajectory, 'routh') > 1e-2  # no axis of symmetry


def flying_ball():
    masses = [
        RailMass(0.5, Circle(0.8)),
        RailMass(1.5, Ellipse((0.3, 0.6), (0.1, 0.1, 0.0))),
    ]
    ball = PointMassBall(masses, unilateral=True)
    p = ball.pack_parameters(
        mass=1.0, inertia=[0.5, 0.6, 0.7], radius=1.0, centre_of_mass=[0.1, -0.1, 0.05]
    )
    x0 = ball.state.pack(
        theta=[0.3, -0.5],
        theta_rate=[4.0, -3.0],
        q_WB=[0.6, 0.0, 0.8, 0.0],
        w_WB_B=[1.0, 2.0, -0.5],
        p_WB=[0, 0, 30.0],
        v_WB_W=[1.0, -0.4, 9.0],
    )
    return ball, p, x0


def test_flight():
    """The centre of mass on its parabola, angular momentum about it constant, masses moving."""
    ball, p, x0 = flying_ball()
    trajectory = simulate(
        ball, p, x0, ([0, 1, 2], [[1.0, -2.0], [-3.0, 2.0], [0.5, 0.5]]), 2.0, mode='separated'
    )
    for name in (f'angular_momentum_{k}' for k in 'xyz'):
        assert drift(trajectory, name) < DRIFT, name
    mean = trajectory.evaluate(lambda s: s.centre_of_mass)[:, :3]
    v = [
        trajectory.evaluate(lambda s, k=k: s.invariants[f'linear_momentum_{k}'])[0, 0] / 3.0
        for k in 'xyz'
    ]
    t = trajectory.times[:, None]
    parabola = mean[0] + t * v + t**2 / 2 * np.array([0, 0, -9.81])
    assert np.abs(mean - parabola).max() < DRIFT


@pytest.mark.parametrize('mode', ['rolling', 'separated'])
def test_energy_is_the_work_of_the_actuators(mode):
    """dE/dt equals the actuators' power; the contact does no work in rolling."""
    ball, p, x0 = flying_ball()
    if mode == 'rolling':
        x0[ball.state.slice('p_WB')] = [0, 0, 1]
        x0[ball.state.slice('v_WB_W')] = np.array(
            ball.modes['rolling'].dynamics(x0, [0, 0], 0, p)
        ).ravel()[ball.state.slice('p_WB')]
    ignore = dict.fromkeys(ball.modes[mode].guards, 'ignore')
    tr = simulate(ball, p, x0, np.array([0.7, -0.3]), 1.0, mode=mode, events=ignore)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    work, at = 0.0, (nodes + 1) / 2
    f = ball.actuator_power(mode)
    for t, w in zip(at, weights / 2, strict=True):
        work += w * float(f(tr.state_at(t), [0.7, -0.3], t, p))
    energy = ball.invariants['energy']
    gained = [float(energy(tr.state_at(t), [0, 0], t, p)) for t in (0.0, 1.0)]
    assert abs(work) > 0.5
    assert gained[1] - gained[0] == pytest.approx(work, abs=1e-9)
