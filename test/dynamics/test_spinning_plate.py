"""The ball on a spinning plate against its closed solution, Eqs. (14)-(17) and Section V-C1."""

from contact_samples import ball_state, level_ball
import numpy as np
from oracles.spinning_plate import SpinningPlate
import pytest
from rolling_dynamics.contact.conversions import to_coordinates
from rolling_dynamics.simulation import simulate
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

RATE, RADIUS, MASS = 7.0, 0.2, 0.1


def start(tilt):
    """Return system, parameters, state and closed solution; the plate tilts about x."""
    system, p = level_ball(RADIUS, MASS)
    R = axangle2mat([1, 0, 0], tilt)
    x = ball_state(system, q_WH=mat2quat(R), w_WH_H=[0, 0, RATE], w_HO_H=[1, 0, -RATE])
    n = R[:, 2]
    exact = SpinningPlate(
        rate=RATE,
        radius=RADIUS,
        mass=MASS,
        gravity_W=np.array([0, 0, -9.81]),
        p_WC_start=np.zeros(3),
        v_WC_start=RADIUS * np.cross(R @ [1, 0, 0], n),
        n_W=n,
    )
    return system, p, x, exact


def contact_points(trajectory):
    points = []
    for t, x in zip(trajectory.times, trajectory.states, strict=True):
        pose = trajectory.system_at(t).pose(x, trajectory.parameters)[2]
        points.append(np.array(pose)[:3, 3])
    return np.array(points)


def test_horizontal_plate_for_two_minutes():
    system, p, x, exact = start(0.0)
    trajectory = simulate(system, p, x, None, 120.0, t_eval=np.linspace(0, 120, 1201))
    points = contact_points(trajectory)
    radius = np.linalg.norm(points - exact.orbit_centre_W, axis=1)
    assert np.abs(radius / 0.1 - 1).max() <= 1e-10  # 1e-8 %
    assert np.abs(points - exact.contact_point(trajectory.times)).max() < 1e-9
    force = trajectory.evaluate(lambda s: s.mode.wrench)[:, 5]
    assert np.abs(force / (MASS * 9.81) - 1).max() < 1e-12
    assert trajectory.terminal_event is None


def test_tilted_plate_drifts_at_the_closed_velocity():
    system, p, x, exact = start(0.01)
    period = 2 * np.pi / exact.orbit_rate
    turns = 3
    trajectory = simulate(system, p, x, None, turns * period, t_eval=np.arange(turns + 1) * period)
    points = contact_points(trajectory)
    assert np.linalg.norm(exact.drift_W) == pytest.approx(0.035, abs=1e-4)  # as in the paper
    drift = (points[-1] - points[0]) / (turns * period)
    assert np.abs(drift - exact.drift_W).max() < 1e-9
    assert np.abs(points - exact.contact_point(trajectory.times)).max() < 1e-9


@pytest.mark.parametrize('tilt', [0.0, 0.3])
def test_force_and_angular_velocity_on_the_way(tilt):
    system, p, x, exact = start(tilt)
    trajectory = simulate(system, p, x, None, 5.0, t_eval=np.linspace(0, 5, 51), events=())
    wrench = trajectory.evaluate(lambda s: s.mode.wrench)
    for k, (t, state) in enumerate(zip(trajectory.times, trajectory.states, strict=True)):
        frame = np.array(system.pose(state, p)[2])[:3, :3]
        assert np.abs(frame @ wrench[k, 3:] - exact.contact_force(t)).max() < 1e-9
        w_O, _ = (np.array(v).ravel() for v in system.object_twist(state, p))
        R_WO = np.array(system.pose(state, p)[1])[:3, :3]
        assert np.abs(R_WO @ w_O - exact.angular_velocity(t)).max() < 1e-9


def test_in_contact_coordinates_through_the_charts():
    """The path passes the poles of the ball's charts closely; the atlas goes round them."""
    system, p, x, exact = start(0.0)
    x = np.array(simulate(system, p, x, None, 0.2).states[-1])
    coordinates = system.with_representation('coordinates')
    trajectory = simulate(
        coordinates, p, to_coordinates(system, p, x), None, 19.8, t_eval=np.linspace(0, 19.8, 67)
    )
    points = contact_points(trajectory)
    assert np.abs(points - exact.contact_point(trajectory.times + 0.2)).max() < 2e-10
    assert any(event.name == 'object_chart' for event in trajectory.events)
