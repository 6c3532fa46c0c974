"""Ch is the frame of the hand's first chart, whatever charts the simulator goes over to."""

import casadi as ca
from contact_samples import ball_state
import numpy as np
import pytest
from rolling_dynamics.contact import ContactSystem, to_coordinates
from rolling_dynamics.simulation import simulate
from rolling_dynamics.surfaces import Ellipsoid, ExpressionSurface, Sphere
from rolling_robotics.contact_arrays import contact_arrays

MASS, GRAVITY = 0.4, np.array([0.0, 0.0, -9.81])
SEMI = np.array([0.8, 1.1, 0.9])
STEP = 4e-4  # s, of the differences
DISH = [f'{SEMI[0]}*sin(u)*cos(v)', f'{SEMI[1]}*sin(u)*sin(v)', f'{SEMI[2]}*cos(u)']
HANDS = {
    'sphere dish': (Sphere(0.9, side='inside'), np.full(3, 0.9)),
    'ellipsoid dish': (Ellipsoid(*SEMI, side='inside'), SEMI),
    'expression': (
        ExpressionSurface(DISH, u_bounds=(0, np.pi), periods=(None, 2 * np.pi), side='inside'),
        SEMI,
    ),
}
SWITCHES = ('sphere dish', 'ellipsoid dish')
SHAKE = (np.linspace(0, 2, 5), np.random.default_rng(3).normal(size=(5, 6)))


def rolled(name, representation='attitude', t_eval=None):
    """Return a motion of an ellipsoid in a dish that moves, and the dish's semi-axes."""
    hand, semi = HANDS[name]
    system = ContactSystem(Ellipsoid(0.1, 0.12, 0.09), hand)
    p = system.pack_parameters(mass=MASS, inertia=[1e-3, 1.2e-3, 0.9e-3], mu=5.0)
    x = ball_state(system, contact_h=[2.6, 0.3], w_HO_H=[2.0, 1.0, 0.5], w_WH_H=[0.3, -0.2, 0.4])
    if representation == 'coordinates':
        x = to_coordinates(system, p, x, object_chart=1)
        system = system.with_representation('coordinates', object_chart=1)
    events = ('relative_curvature',)
    return simulate(system, p, x, SHAKE, 2.0, t_eval=t_eval, events=events), semi


def poses(trajectory, t):
    """Return attitude and origin in W of hand and object."""
    matrices = trajectory.system_at(t).pose(trajectory.state_at(t), trajectory.parameters)[:2]
    return [part for X in matrices for part in (np.array(X)[:3, :3], np.array(X)[:3, 3])]


def gauss_frame(uv, semi):
    """Return the frame of the chart (a sin u cos v, b sin u sin v, c cos u), from inside."""
    (u, v), (a, b, c) = uv, semi
    x = np.array([a * np.cos(u) * np.cos(v), b * np.cos(u) * np.sin(v), -c * np.sin(u)])
    n = -np.array([np.sin(u) * np.cos(v) / a, np.sin(u) * np.sin(v) / b, np.cos(u) / c])
    x, n = x / np.linalg.norm(x), n / np.linalg.norm(n)
    return np.column_stack([x, np.cross(n, x), n])


def acceleration(trajectory, t):
    """Return the acceleration of the object's centre in W, by differences of its position."""
    weights = np.array([-1, 16, -30, 16, -1]) / (12 * STEP**2)
    return sum(
        w * poses(trajectory, t + k * STEP)[3] for w, k in zip(weights, range(-2, 3), strict=True)
    )


def relative_rate(trajectory, t):
    """Return the angular velocity of the object in the hand, in H, by differences."""
    weights = np.array([1, -8, 0, 8, -1]) / (12 * STEP)

    def R_HO(time):
        R_WH, _, R_WO, _ = poses(trajectory, time)
        return R_WH.T @ R_WO

    rate = sum(w * R_HO(t + k * STEP) for w, k in zip(weights, range(-2, 3), strict=True))
    W = rate @ R_HO(t).T
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def instants(trajectory):
    """Return times away from the kinks of the control, close to each change of chart too."""
    end = trajectory.segments[-1].end
    switches = [e.time for e in trajectory.events if e.name == 'hand_chart' and not e.terminal]
    near = [t + d for t in switches for d in (-1e-5, 1e-5)]
    spread = np.arange(0.05, end - 0.01, 0.0473)
    times = np.sort([*near, *spread])
    apart = np.abs(times[:, None] - SHAKE[0]).min(axis=1)
    return times[(times > 3 * STEP) & (times < end - 3 * STEP) & (apart > 3 * STEP)], switches


@pytest.mark.parametrize('representation', ['attitude', 'coordinates'])
@pytest.mark.parametrize('name', HANDS)
def test_force_and_rate_in_Ch_are_those_of_the_poses(name, representation):
    """Newton: R_WH R_HCh f_contact = m (a_O - g), across the changes of chart."""
    trajectory, _ = rolled(name, representation)
    times, switches = instants(trajectory)
    again, semi = rolled(name, representation, times)
    assert bool(switches) == (name in SWITCHES)
    found = {k: s.values for k, s in contact_arrays(again.system, again).items()}
    force = again.evaluate(lambda s: s.mode.wrench)[:, 3:]
    angle = []
    for k, t in enumerate(again.times):
        R_HCh = gauss_frame(found['contact_h'][k], semi)
        R_WCh = poses(trajectory, t)[0] @ R_HCh
        newton = MASS * (acceleration(trajectory, t) - GRAVITY)
        assert np.abs(R_WCh @ force[k] - newton).max() < 1e-6 * MASS * 9.81
        assert np.abs(R_HCh @ found['w_HO_Ch'][k] - relative_rate(trajectory, t)).max() < 1e-6
        pose = trajectory.system_at(t).pose(trajectory.state_at(t), trajectory.parameters)[2]
        assert np.abs(np.array(pose)[:3, :3] - R_WCh).max() < 1e-9
        system = trajectory.system_at(t)
        if system.hand_chart:  # that the frame of the chart in use is another one
            e = system.expressions
            in_use = ca.Function('f', [e.x, e.p], [e.state.geometry.frame[:, 0]])
            x = np.array(in_use(trajectory.state_at(t), trajectory.parameters)).ravel()
            angle.append(np.arccos(np.clip(x @ R_HCh[:, 0], -1, 1)))
    assert name not in SWITCHES or max(angle) > 0.5
