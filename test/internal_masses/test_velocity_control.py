"""From a wanted velocity to mass motions, inside the envelope."""

import casadi as ca
import numpy as np
import pytest
from rolling_controller.mass_driven_velocity import _pseudo_inverse, MassDrivenVelocity
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall
from rolling_dynamics.internal_masses.masses import RailMass
from rolling_dynamics.internal_masses.rails import Circle
from rolling_dynamics.simulation import Stepper

AXES = (
    np.eye(3),
    np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
)
STEP = 4e-3


def drive(mu, wanted, duration, controlled=True):
    """Return times, velocities, friction over N, and N under the controller."""
    ball = PointMassBall([RailMass(1.0, Circle(0.22, frame=F)) for F in AXES])
    p = ball.pack_parameters(mass=1.0, inertia=0.04, radius=0.3, mu=mu)
    x = ball.state.pack(
        theta=[-2.51052635, 0.63106631, -0.93973002],
        theta_rate=np.zeros(3),
        q_WB=[1, 0, 0, 0],
        w_WB_B=np.zeros(3),
        p=[0, 0],
    )
    controller, plant = MassDrivenVelocity(ball, p), Stepper(ball, p)
    log = []
    for k in range(round(duration / STEP)):
        t = k * STEP
        u = controller.step(None, [*x, *wanted(t), 0.0], t)[1] if controlled else np.zeros(3)
        force = np.array(ball.mode.wrench(x, u, t, p)).ravel()[3:]
        v = np.array(ball.mode.dynamics(x, u, t, p)).ravel()[ball.state.slice('p')]
        log.append([t, *v, np.hypot(*force[:2]) / force[2], force[2], np.abs(u).max()])
        x = plant.step(x, u, STEP, t)
    return np.array(log)


def turn(t):
    """Along x, then along y, then stop."""
    return (0.5, 0.0) if t < 4 else (0.0, 0.5) if t < 8 else (0.0, 0.0)


@pytest.mark.parametrize(
    ('mu', 'ripple'), [pytest.param(0.5, 0.1, marks=pytest.mark.slow), (0.05, 0.2)]
)
def test_velocity_is_followed_inside_the_envelope(mu, ripple):
    """On average within 0.06 m/s; f / N below 0.8 mu at every step; at rest at the end."""
    log = drive(mu, turn, 12.0)
    for before, end in ((2.5, 4.0), (7.0, 8.0)):
        part = log[(log[:, 0] > before) & (log[:, 0] < end)]
        miss = part[:, 1:3] - turn(before)
        assert np.abs(miss).max() < ripple
        assert np.abs(miss.mean(axis=0)).max() < 0.06
    assert np.abs(log[-1, 1:3]).max() < 0.01
    assert log[:, 3].max() <= 0.8 * mu * (1 + 1e-9)
    assert log[:, 4].min() > 0.3 * 4 * 9.81


@pytest.mark.parametrize('columns', [1, 2, 3, 4])
def test_the_pseudo_inverse_leaves_out_what_is_weak(columns):
    """As that of numpy, of full rank, of rank one, of none, and about where one changes."""
    A, rng = ca.SX.sym('A', 2, columns), np.random.default_rng(columns)
    inverse = ca.Function('inverse', [A], [_pseudo_inverse(A)])
    for spread in (1.0, 0.1, 1.01e-3, 0.99e-3, 1e-6, 0.0):
        left = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        right = np.linalg.qr(rng.normal(size=(columns, columns)))[0][:, :2]
        given = 3.0 * left[:, : right.shape[1]] * [1.0, spread][: right.shape[1]] @ right.T
        expected = np.linalg.pinv(given, rcond=1e-3)
        found = np.array(inverse(given))
        np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())
    assert not np.array(inverse(np.zeros((2, columns)))).any()


def test_without_control_it_does_not_move():
    assert np.abs(drive(0.5, turn, 1.0, controlled=False)[:, 1:3]).max() < 1e-3


def test_refused():
    one = PointMassBall([RailMass(1.0, Circle(0.2))])
    p = one.pack_parameters(mass=1, inertia=0.04, radius=0.3)
    with pytest.raises(ParameterError, match='two masses on rails or more'):
        MassDrivenVelocity(one, p)
    with pytest.raises(ParameterError, match=r'velocity must be positive and finite \[1/s\]'):
        MassDrivenVelocity(one, p, velocity=0)
