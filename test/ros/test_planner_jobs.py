"""What the worker does for each system, without a worker."""

import numpy as np
import pytest
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_dynamics.plugin import plugins
from rolling_planner.planners.job import planning_model, work
from rolling_planner.planners.planner import planner_of
from rolling_planner.progress import InfeasibleError, PlanningTimeoutError
from transforms3d.quaternions import quat2mat

OPTIONS = {
    'method': 'hermite_simpson',
    'segments': 25,
    'refinements': 4,
    'goal_tolerance': 1e-3,
    'normal_force_min': 0.05,
    'quiet_ends': True,
    'sample_rate': 100.0,
    'time_budget': 30.0,
}


def plan(scenario, goal, horizon=0.0, report=lambda _: True, **changes):
    job = {
        'kind': 'plan',
        'scenario_file': scenario,
        'start': planning_model(scenario).scenario.x0,
        'goal': goal,
        'horizon': horizon,
        'method': '',
        'options': OPTIONS,
        'waypoints': np.zeros((0, 3)),
        'keep_out': np.zeros((0, 3)),
    }
    return work(job | changes, report)


def assert_twist_is_the_derivative_of_the_pose(motion):
    """Between two poses, in the middle, by differences of second order."""
    t, X, twist = motion['times'], motion['X'], motion['twist']
    h = np.diff(t)
    steady = np.flatnonzero((h > 1e-4) & (np.linalg.norm(twist[:-1], axis=1) > 0))
    for k in steady[:: max(1, len(steady) // 20)]:
        R = X[k, :3, :3]
        turn = R.T @ X[k + 1, :3, :3]
        w = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        v = R.T @ (X[k + 1, :3, 3] - X[k, :3, 3])
        mean = (twist[k] + twist[k + 1]) / 2
        np.testing.assert_allclose(w / 2 / h[k], mean[:3], atol=0.02 + 0.02 * abs(mean[:3]).max())
        np.testing.assert_allclose(v / h[k], mean[3:], atol=0.02 + 0.05 * abs(mean).max())


DISK = """
system: point_mass_disk
description: A disk with one mass.
disk: {mass: 1, radius: 0.3, polar_inertia: 0.04}
masses:
  - {mass: 1, rail: {kind: circle, radius: 0.2}, theta: -pi/2}
friction: {mu: 0.5}
initial: {}
duration: 4
limits: {theta_acceleration: 100}
"""


def test_disk_with_a_mass(tmp_path):
    scenario = tmp_path / 'disk.yaml'
    scenario.write_text(DISK)
    out = plan(str(scenario), {'p': [0.5]}, 3.0)
    found, motion = out['plan'], out['bodies']['object']
    assert found.states[-1, -1] == pytest.approx(0.5, abs=1e-3)
    assert motion['X'][-1, 0, 3] == pytest.approx(0.5, abs=1e-3)
    assert_twist_is_the_derivative_of_the_pose(motion)


def test_manoeuvre_of_the_scenario_with_its_waits():
    out = plan('pendulum_course.yaml', {})
    found = out['plan']
    place = found.states[:, STATE.slice('contact')]
    speed = np.linalg.norm(found.states[:, STATE.slice('w_WS_W')], axis=1)
    there = np.hypot(*(place - [3.0, 0.4]).T) < 0.02
    waits = found.times[there & (speed < 1e-9)]
    assert np.ptp(waits) == pytest.approx(0.5, abs=0.02)
    assert np.abs(found.controls).max() < 0.6
    assert_twist_is_the_derivative_of_the_pose(out['bodies']['object'])


def test_shell_turns_as_it_rolls():
    """Straight on, the shell turns by way over radius about the axis across."""
    scenario = 'pendulum_start.yaml'
    start = planning_model(scenario).scenario.x0.copy()
    start[STATE.slice('q_WS')] = [0.8, 0.0, 0.0, 0.6]
    found = plan(scenario, {'contact': [1.2, 0.0]}, start=start)['plan']
    np.testing.assert_allclose(found.states[0], start, atol=1e-12)
    radius = planning_model(scenario).scenario.p[2]
    turn = quat2mat(found.states[-1, STATE.slice('q_WS')]) @ quat2mat(start[2:6]).T
    angle = 1.2 / radius
    about_y = [[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]]
    np.testing.assert_allclose(turn, about_y, atol=1e-3)


def test_manoeuvre_fills_its_horizon_at_rest():
    found = plan('pendulum_start.yaml', {'contact_x': 1.0}, 8.0)['plan']
    assert found.duration == pytest.approx(8.0, abs=1e-9)
    np.testing.assert_allclose(found.states[-1, :2], [1.0, 0.0], atol=1e-3)
    still = found.times > 6.0
    np.testing.assert_allclose(np.diff(found.states[still], axis=0), 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ('entry', 'value', 'text'),
    [
        ('w_WS_W', [0.0, 1.0, 0.0], 'the shell turns at 1 rad/s'),
        ('w_WP_W', [0.0, 0.0, 2.0], 'the pendulum turns at 2 rad/s'),
        ('q_WP', [0.8, 0.6, 0.0, 0.0], 'the pendulum differs from its equilibrium by 1.29 rad'),
    ],
)
def test_manoeuvre_begins_at_rest(entry, value, text):
    start = planning_model('pendulum_start.yaml').scenario.x0.copy()
    start[STATE.slice(entry)] = value
    with pytest.raises(ParameterError, match=text):
        plan('pendulum_start.yaml', {'contact': [1.0, 0.0]}, start=start)


def test_spin_rolling_goal_as_attitude_is_that_of_its_coordinates():
    scenario = 'spin_rolling_plan.yaml'
    coordinates = {'u_s': 0.0, 'contact_o': [-0.5, -0.3], 'psi': 1.5}
    first = plan(scenario, coordinates)['plan']
    second = plan(scenario, {'u_s': 0.0, 'q_SO': first.states[-1, 2:6]})['plan']
    np.testing.assert_allclose(second.states[-1], first.states[-1], atol=1e-9)
    with pytest.raises(ParameterError, match='q_SO and psi are redundant'):
        plan(scenario, {'psi': 1.0, 'q_SO': first.states[-1, 2:6]})
    with pytest.raises(ParameterError, match='unit quaternion, its norm is 2'):
        plan(scenario, {'q_SO': np.array([2.0, 0.0, 0.0, 0.0])})


def test_spin_rolling_takes_the_time_it_is_given():
    scenario, goal = 'spin_rolling_plan.yaml', {'u_s': -0.005, 'psi': 0.3}
    fast = plan(scenario, goal)['plan']
    slow = plan(scenario, goal, 2 * fast.duration)['plan']
    assert slow.duration == pytest.approx(2 * fast.duration, rel=1e-12)
    np.testing.assert_allclose(slow.states[-1], fast.states[-1], atol=1e-9)
    assert np.abs(slow.controls).max() == pytest.approx(np.abs(fast.controls).max() / 2)
    with pytest.raises(InfeasibleError, match='the motion takes'):
        plan(scenario, goal, 0.9 * fast.duration)


@pytest.mark.parametrize(
    ('scenario', 'goal', 'horizon'),
    [
        ('point_mass_straight.yaml', {'p': [2.0, 0.0]}, 4.0),
        ('pendulum_start.yaml', {'contact': [1.0, 0.0]}, 0.0),
        ('spin_rolling_pure.yaml', {'psi': 1.0}, 0.0),
    ],
)
def test_no_is_an_answer_to_progress(scenario, goal, horizon):
    with pytest.raises(CancelledError):
        plan(scenario, goal, horizon, report=lambda _: False)


def test_every_system_has_a_planner_one_of_its_own_or_collocation():
    for name in plugins():
        assert planner_of(name).methods
    assert planner_of('unicycle') is planner_of('contact') is not planner_of('pendulum_sphere')


@pytest.mark.parametrize('name', ['spin_rolling_published.yaml', 'spin_rolling_straight.yaml'])
def test_inputs_that_no_plan_has_are_refused(name):
    with pytest.raises(ParameterError, match='inputs must be angular_velocity'):
        planning_model(name)


@pytest.mark.parametrize(
    ('budget', 'go_on', 'error'),
    [(1e-9, True, PlanningTimeoutError), (60.0, False, CancelledError)],
)
def test_a_check_ends_when_it_is_to(monkeypatch, budget, go_on, error):
    monkeypatch.setattr('rolling_dynamics.simulation.run.PROGRESS', 1)
    scenario = 'ball_on_plate_hard.yaml'
    job = {
        'kind': 'check',
        'scenario_file': scenario,
        'start': planning_model(scenario).scenario.x0,
        'trajectory': {
            'times': np.linspace(0.0, 1.0, 3),
            'q_WH': np.tile([1.0, 0.0, 0.0, 0.0], (3, 1)),
            'p_WH': np.zeros((3, 3)),
        },
        'time_budget': budget,
    }
    with pytest.raises(error):
        work(job, lambda _: go_on)


def test_a_robot_has_no_hand():
    scenario = 'spin_rolling_plan.yaml'
    job = {
        'kind': 'check',
        'scenario_file': scenario,
        'start': planning_model(scenario).scenario.x0,
    }
    with pytest.raises(ParameterError, match='this planner runs spin_rolling_sphere'):
        work(job, lambda _: True)
