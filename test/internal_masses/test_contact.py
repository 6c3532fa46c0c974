"""Required friction, materials, and events against closed form."""

from evidence.papers import disk_and_ball
import numpy as np
import pytest
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.masses import pairs_that_hold, RailMass, STATIC_FRICTION
from rolling_dynamics.internal_masses.rails import Straight
from rolling_dynamics.simulation import simulate
from rolling_robotics.plugins.point_mass_ball.report import required_friction

G = 9.81


def test_disk_of_the_paper():
    """Section 5: 0.2951, N positive; the time is that of the maximum of f / N."""
    ex = disk_and_ball.disk()
    tr = simulate(ex.system, ex.p, ex.x0, ex.control.simplest, 20.0, events={})
    needed = required_friction(tr)
    assert round(needed.mu, 4) == 0.2951
    assert needed.least_normal_force > 4
    assert pairs_that_hold(needed.mu)['aluminium', 'nickel']
    assert not pairs_that_hold(needed.mu)['aluminium', 'copper']
    # an event at a coefficient a little smaller comes just before, a little larger never
    p = ex.p.copy()
    where = ex.system.parameters.slice('mu')
    p[where] = needed.mu * (1 - 1e-9)
    hit = simulate(ex.system, p, ex.x0, ex.control.simplest, 20.0).terminal_event
    assert hit.name == 'friction'
    assert hit.time == pytest.approx(needed.time, abs=1e-3)
    p[where] = needed.mu * (1 + 1e-9)
    assert simulate(ex.system, p, ex.x0, ex.control.simplest, 20.0).terminal_event is None


def test_ball_of_the_paper():
    """Section 6: 0.19, N positive."""
    ex = disk_and_ball.ball()
    tr = simulate(ex.system, ex.p, ex.x0, ex.control.simplest, 20.0, events={})
    needed = required_friction(tr)
    assert round(needed.mu, 2) == 0.19
    assert needed.mu == pytest.approx(0.190594, abs=1e-6)
    assert needed.least_normal_force > 3


def test_table_is_that_of_the_paper():
    assert sorted(STATIC_FRICTION.values()) == [0.16, 0.17, 0.27, 0.28, 0.33, 0.34, 0.35, 0.42]


@pytest.mark.parametrize('kind', [PointMassBall, PointMassDisk])
def test_lift_off(kind):
    """A mass in a vertical tube, theta'' = -k t: N = (m0 + m) g - m k t."""
    system = kind([RailMass(2.0, Straight((0, 0, 1), (-0.9, 0.9)))])
    shell = {'inertia': 0.4} if kind is PointMassBall else {'polar_inertia': 0.4}
    p = system.pack_parameters(mass=1.0, radius=1.0, **shell)
    at_rest = {'theta': [0.0], 'theta_rate': [0.0]}
    body = (
        {'q_WB': [1, 0, 0, 0], 'w_WB_B': [0, 0, 0], 'p': [0, 0]}
        if kind is PointMassBall
        else {'phi': 0, 'phi_rate': 0, 'p': [0]}
    )
    k = 100.0
    tr = simulate(system, p, system.state.pack(**at_rest, **body), lambda t: [-k * t], 1.0)
    assert tr.terminal_event.name == 'normal_force'
    assert tr.terminal_event.time == pytest.approx(3.0 * G / (2.0 * k), abs=1e-12)


def test_first_slip():
    """A homogeneous ball drawn with F = c t: friction is F I / (I + M r^2)."""
    M, r, inertia, mu, c = 1.7, 0.3, 0.05, 0.2, 4.0
    ball = PointMassBall(force=[f'{c}*t', 0, 0])
    p = ball.pack_parameters(mass=M, inertia=inertia, radius=r, mu=mu)
    x0 = ball.state.pack(q_WB=[1, 0, 0, 0], w_WB_B=[0, 0, 0], p=[0, 0])
    hit = simulate(ball, p, x0, None, 20.0).terminal_event
    assert hit.name == 'friction'
    assert hit.time == pytest.approx(mu * M * G * (inertia + M * r * r) / (c * inertia), abs=1e-11)


def test_mass_at_its_stop():
    """theta = a t^2 / 2 comes to the stop at sqrt(2 stop / a)."""
    ball = PointMassBall([RailMass(0.5, Straight((0, 0, 1), (-0.4, 0.3)))])
    p = ball.pack_parameters(mass=1.0, inertia=0.4, radius=1.0)
    x0 = ball.state.pack(theta=[0], theta_rate=[0], q_WB=[1, 0, 0, 0], w_WB_B=[0, 0, 0], p=[0, 0])
    hit = simulate(ball, p, x0, np.array([1.5]), 5.0).terminal_event
    assert hit.name == 'stop_1'
    assert hit.time == pytest.approx(np.sqrt(2 * 0.3 / 1.5), abs=1e-12)


def test_masses_meet():
    """Two masses run towards each other on one line: gap 0.8 - 2 t^2 comes to 0.1."""
    tubes = [Straight((1, 0, 0), (-0.9, 0.9)), Straight((-1, 0, 0), (-0.9, 0.9))]
    ball = PointMassBall([RailMass(0.5, tube) for tube in tubes], mass_size=0.1)
    p = ball.pack_parameters(mass=1.0, inertia=0.4, radius=1.0)
    x0 = ball.state.pack(
        theta=[-0.4, -0.4], theta_rate=[0, 0], q_WB=[1, 0, 0, 0], w_WB_B=[0, 0, 0], p=[0, 0]
    )
    hit = simulate(ball, p, x0, np.array([2.0, 2.0]), 5.0).terminal_event
    assert hit.name == 'masses_meet'
    assert hit.time == pytest.approx(np.sqrt(0.7 / 2), abs=1e-12)


def test_required_friction_is_infinite_without_contact():
    """N that vanishes is never passed over in silence."""
    ball = PointMassBall([RailMass(2.0, Straight((0, 0, 1), (-0.9, 0.9)))])
    p = ball.pack_parameters(mass=1.0, inertia=0.4, radius=1.0)
    x0 = ball.state.pack(
        theta=[0], theta_rate=[0], q_WB=[1, 0, 0, 0], w_WB_B=[0.1, 0, 0], p=[0, 0]
    )
    tr = simulate(
        ball, p, x0, lambda t: [-100 * t], 0.2, events=dict.fromkeys(ball.mode.guards, 'record')
    )
    needed = required_friction(tr)
    assert needed.mu == np.inf
    assert needed.least_normal_force < 0
