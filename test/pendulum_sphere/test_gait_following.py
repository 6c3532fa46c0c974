"""Feedback along sequences of gaits: arrival on spheres and floors that are not as believed."""

import math

from evidence.benchmarks.pendulum_sphere import (
    Arrived,
    course,
    Disturbance,
    follow,
    Following,
    OBSTACLES,
    random_disturbance,
)
import numpy as np
import pytest
from rolling_controller.gait_following.gait_follower import GaitFollower, VelocityStick
from rolling_controller.gait_following.reference_loop import MomentumFilter, SwingTracking
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.pendulum_sphere.spatial_swing import swing_for
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, PendulumSphere
from rolling_dynamics.simulation import Stepper
from rolling_planner.gait_planner.plan_gaits import plan_gaits
from rolling_planner.gait_planner.problem import GaitProblem, Waypoint
from rolling_robotics.trials.trial import Trial, tried

SI = paper_parameters()
SYSTEM = PendulumSphere()
LAYOUT = SYSTEM.state


@pytest.fixture(scope='module')
def short_plan():
    corners = [(0.8, 0.0), (1.2, 0.8), (2.0, 1.0)]
    return plan_gaits(
        GaitProblem(params=SI, start=(0, 0), waypoints=[Waypoint(position=c) for c in corners])
    )


@pytest.fixture(scope='module')
def long_plan():
    return plan_gaits(course())


@pytest.mark.slow
def test_undisturbed_sphere_stays_on_the_plan(short_plan):
    run = follow(short_plan, Disturbance(noise=0))
    ref = short_plan.reference(run.times).position
    assert np.hypot(*(run['path'] - ref).T).max() < 0.01
    assert run.values['miss'] < 1e-3
    assert run.values['speed'] < 1e-3


@pytest.mark.slow
def test_open_loop_would_not_arrive(short_plan):
    """The same disturbance without feedback: the test of the feedback can fail."""
    slope = SI.on_slope(math.radians(1), 0.5)
    plant = Stepper(SYSTEM, SYSTEM.pack_parameters(slope), max_step=2e-3)
    x = SYSTEM.rolling_state(SI)
    for t in np.arange(0, short_plan.duration, 4e-3):
        x = plant.step(x, short_plan.reference(t).torque[0], 4e-3)
    assert np.hypot(*(x[:2] - short_plan.steps[-1].corner)) > 0.1 * short_plan.length


@pytest.mark.parametrize('seed', [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_disturbed_sphere_arrives(short_plan, seed):
    run = follow(short_plan, random_disturbance(seed))
    assert run.values['miss'] < 0.02 * short_plan.length
    assert run.values['speed'] < 0.03
    assert run.values['least_normal_force'] > 0
    assert run.values['friction'] < SI.mu


def test_slope_is_estimated_while_nothing_told_it(short_plan):
    told = GaitFollower(short_plan)
    assert told.start().loop.filter.slope == pytest.approx(0, abs=1e-12)
    run = follow(short_plan, Disturbance(slope=math.radians(1.7), azimuth=2.0, noise=0.5))
    assert math.degrees(run.values['slope_estimate']) == pytest.approx(1.7, abs=0.2)


@pytest.mark.slow
def test_resistance_is_told_from_slope_once_the_direction_turns(long_plan):
    run = follow(long_plan, Disturbance(rolling_resistance=1e-3, noise=0))
    weight = 1.1 * 9.81
    assert run.values['resistance_estimate'] == pytest.approx(1e-3 * weight, rel=0.5)


def test_momentum_filter_predicts_exactly_what_the_model_does():
    """Without noise and wrong masses the momentum law leaves nothing over."""
    slope = SI.on_slope(math.radians(1.5), -0.7)
    plant = Stepper(SYSTEM, SYSTEM.pack_parameters(slope), max_step=5e-4)
    kalman, x = MomentumFilter(slope), SYSTEM.rolling_state(slope, velocity=[0.2, 0.1])
    rng = np.random.default_rng(3)
    Q = np.zeros(3)
    for k in range(200):
        n = pendulum_direction(x)
        Omega, omega = x[LAYOUT.slice('w_WS_W')], x[LAYOUT.slice('w_WP_W')]
        kalman.update(n, Omega, omega, Q, 0.004 if k else 0.0)
        np.testing.assert_allclose(kalman.state[:2], kalman.momentum(n, Omega, omega), atol=1e-10)
        np.testing.assert_allclose(kalman.rates(n, omega), Omega[:2], atol=1e-8)
        Q = 0.1 * rng.normal(size=3)
        x = plant.step(x, Q, 0.004)
    np.testing.assert_allclose(kalman.gravity(), slope.gravity_W, atol=1e-9)


def test_tracking_torque_is_the_planned_one_on_the_reference():
    swing = swing_for(SI, [0.4, 0.2], 0.8)
    tracking = SwingTracking(SI)
    t = 0.23
    table = swing.at(t)
    x = SYSTEM.rolling_state(SI, pendulum=table.n[0])
    x[LAYOUT.slice('w_WP_W')] = table.omega[0]
    Q = tracking.torque(x, SI.gravity_W, table.n[0], table.omega[0], table.omega_rate[0])
    np.testing.assert_allclose(Q, table.torque[0], atol=1e-12)


@pytest.mark.slow
def test_long_manoeuvre_keeps_clear_of_the_obstacles(long_plan):
    for seed in range(5):
        run = follow(long_plan, random_disturbance(seed))
        assert run.values['miss'] < 0.02 * long_plan.length
        for c, r in OBSTACLES:
            assert np.hypot(*(run['path'] - c).T).min() > r + SI.shell_radius


@pytest.mark.slow
def test_a_hundred_disturbed_runs_arrive_within_two_percent(short_plan):
    trial = Trial(task=Following(short_plan), criterion=Arrived(short_plan))
    assert tried(trial, range(100))[1] == 100


@pytest.mark.slow
@pytest.mark.parametrize('slope', [0.0, 0.02])
def test_stick_makes_the_velocity_what_is_wanted(slope):
    true = SI.on_slope(slope, 1.0)
    plant = Stepper(SYSTEM, SYSTEM.pack_parameters(true), max_step=2e-3)
    stick, x = VelocityStick(SI), SYSTEM.rolling_state(SI)
    orders = [(0.0, (0, 0)), (2.0, (0.5, 0)), (4.0, (0.2, 0.6)), (7.0, (0, 0))]
    speeds = {}
    memory = stick.start()
    for t in np.arange(0, 10, 4e-3):
        wanted = [o for start, o in orders if start <= t][-1]
        memory, Q = stick.step(memory, [*x, *wanted, 0.0], t)
        x = plant.step(x, Q, 4e-3)
        Omega = x[LAYOUT.slice('w_WS_W')]
        speeds[round(float(t), 3)] = 0.15 * np.array([Omega[1], -Omega[0]])
    np.testing.assert_allclose(speeds[3.9], (0.5, 0), atol=0.02)
    np.testing.assert_allclose(speeds[6.9], (0.2, 0.6), atol=0.02)
    np.testing.assert_allclose(speeds[9.9], (0, 0), atol=0.02)


def test_stick_takes_several_swings_for_more_than_one_can_give():
    weak = GaitLimits(friction=0.1)
    stick, x = VelocityStick(SI, limits=weak), SYSTEM.rolling_state(SI)
    assert stick.greatest_change < 0.6
    plant = Stepper(SYSTEM, SYSTEM.pack_parameters(SI), max_step=2e-3)
    memory = stick.start()
    for t in np.arange(0, 5 * stick.swing_period + 0.5, 4e-3):
        memory, Q = stick.step(memory, [*x, 0.9, 0.0, 0.0], t)
        x = plant.step(x, Q, 4e-3)
    assert 0.15 * x[LAYOUT.slice('w_WS_W')][1] == pytest.approx(0.9, abs=0.03)
    with pytest.raises(ParameterError, match=r'no swing of 0\.01 s'):
        VelocityStick(SI, period=0.01)


@pytest.mark.slow
def test_sphere_is_held_on_an_unknown_slope_before_the_first_swing(short_plan):
    run = follow(short_plan, Disturbance(slope=math.radians(2), azimuth=0.4, noise=0))
    waiting = run.times < 0
    away = np.hypot(*run['path'][waiting].T)
    assert away.max() < 0.1  # it begins to roll before anything is known
    assert away[-1] < 0.04
