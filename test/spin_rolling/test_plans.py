"""Plans over time: simulated, bounded, at rest at both ends, as inputs of the Darboux model."""

import math

from evidence.benchmarks.spin_rolling import random_pairs
import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere
from rolling_planner import Plan
from rolling_planner.spin_rolling.motion import (
    Contact,
    contact_at,
    ContactRegion,
    goal_error,
    InputBounds,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.motion import InputBounds as Bounds
from rolling_planner.spin_rolling.planner import plan_spin_rolling

R = 0.3
START = contact_at([0, 0, 0, 0, 0])
GOAL = contact_at([0.2, -0.1, 0.8, 0.5, 1.9])
MODES = ['spin_rolling', 'pure_rolling']


def darboux_inputs(w_SO_S, bounds):
    """Return alpha_s, beta_s, gamma_s, theta, phi, delta of the Darboux model for w [rad/s]."""
    w = np.atleast_2d(w_SO_S)
    rolling = R * np.hypot(w[:, 0], w[:, 1])
    alone = (rolling <= 1e-12 * R * np.abs(w[:, 2])) & (w[:, 2] != 0)
    delta = np.where(alone, np.abs(w[:, 2]) / (min(bounds.alpha_s, 1 / R) or 1.0), rolling)
    alpha = np.where(delta > 0, w[:, 2] / np.where(delta > 0, delta, 1.0), 0.0)
    theta, zero = np.arctan2(-w[:, 0], w[:, 1]) - np.pi / 2, np.zeros(len(w))
    return np.column_stack([alpha, zero, alone / R, theta, zero + np.pi / 2, delta])


def check(bounds, inputs):
    for name, k in (('alpha_s', 0), ('gamma_s', 2), ('delta', 5)):
        assert np.abs(inputs[:, k]).max() <= getattr(bounds, name) * (1 + 1e-9)


def ended(system, x):
    return Contact(x[0], x[1], np.array(system.attitude(x)))


@pytest.mark.parametrize(
    ('mode', 'optimise'),
    [
        ('spin_rolling', True),
        *((mode, False) for mode in MODES),
    ],
)
def test_simulated_plan_reaches_its_goal(mode, optimise):
    system = SpinRollingSphere()
    for start, goal in random_pairs(6, R, seed=8):
        plan = plan_spin_rolling(
            SpinRollingProblem(radius=R, start=start, goal=goal, mode=mode, optimise=optimise)
        )
        run = simulate(system, [R], plan.states[0], (plan.times, plan.controls), plan.duration)
        assert goal_error(ended(system, run.states[-1]), goal) < 1e-9
        assert run.state_at(plan.times) == pytest.approx(plan.states, abs=1e-9)
        assert plan.report['goal_error'] < 1e-9
        assert np.all(plan.controls[[0, -1]] == 0)
        assert plan.report['spin'] >= 0
        assert (mode == 'spin_rolling') or np.all(plan.controls[:, 2] == 0)


def test_reach_length_is_that_of_the_simulated_path():
    for mode in MODES:
        plan = plan_spin_rolling(SpinRollingProblem(radius=R, start=START, goal=GOAL, mode=mode))
        fine = np.linspace(0, plan.duration, 40_001)
        speed = R * np.hypot(*np.array([plan.control_at(t)[:2] for t in fine[::20]]).T)
        length = np.sum((speed[1:] + speed[:-1]) / 2) * (fine[20] - fine[0])
        assert plan.report['length'] == pytest.approx(length, rel=3e-3)


@pytest.mark.parametrize(
    'mode', ['spin_rolling', pytest.param('pure_rolling', marks=pytest.mark.slow)]
)
def test_inputs_of_the_darboux_model_make_the_same_motion(mode):
    """alpha_s, beta_s, gamma_s, theta, phi and delta over time, held to their bounds."""
    bounds = InputBounds(delta=0.05, alpha_s=2.0, gamma_s=1 / R)
    plan = plan_spin_rolling(
        SpinRollingProblem(radius=R, start=START, goal=GOAL, mode=mode, bounds=bounds)
    )
    check(bounds, darboux_inputs(plan.controls, bounds))
    system = SpinRollingSphere(inputs='virtual_surface', independent_variable='time')
    x = plan.states[0]
    for t0, t1 in zip(plan.times, plan.times[1:], strict=False):  # inputs may jump where delta = 0

        def u(t, low=t0, high=t1):
            inside = min(max(t, low + 1e-12), high - 1e-12)
            return darboux_inputs(plan.control_at(inside), bounds)[0]

        x = simulate(system, [R], x, u, t1 - t0, start=t0, rtol=1e-10, atol=1e-12).states[-1]
    assert goal_error(ended(system, x), GOAL) < 1e-8


def test_bounds_are_kept_and_slow_motion_takes_longer():
    durations = []
    for delta in (0.02, 0.1):
        bounds = InputBounds(delta=delta, alpha_s=1.0)
        plan = plan_spin_rolling(
            SpinRollingProblem(radius=R, start=START, goal=GOAL, bounds=bounds)
        )
        inputs = darboux_inputs(plan.controls, bounds)
        check(bounds, inputs)
        assert np.max(inputs[:, 5]) == pytest.approx(delta)
        durations.append(plan.duration)
    assert durations[0] == pytest.approx(5 * durations[1])


def test_bounds_that_forbid_spin_ask_for_pure_rolling():
    bounds = InputBounds(gamma_s=0.5 / R)
    problem = SpinRollingProblem(radius=R, start=START, goal=GOAL, bounds=bounds)
    with pytest.raises(ParameterError, match=r'gamma_s = 1/R.*pure_rolling'):
        plan_spin_rolling(problem)
    pure = SpinRollingProblem(
        radius=R,
        start=START,
        goal=GOAL,
        mode='pure_rolling',
        bounds=InputBounds(alpha_s=0.0, gamma_s=0.0),
    )
    plan = plan_spin_rolling(pure)
    assert np.max(np.abs(darboux_inputs(plan.controls, pure.bounds)[:, :3])) == 0


@pytest.mark.parametrize('options', [{'delta': 0}, {'delta': math.inf}, {'alpha_s': -1}])
def test_bounds_that_are_none_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        Bounds(**options)


def test_problem_that_is_none_is_refused():
    with pytest.raises(ParameterError, match='radius must be positive'):
        SpinRollingProblem(radius=0.0, start=START, goal=GOAL)
    with pytest.raises(ParameterError, match='mode must be one of'):
        SpinRollingProblem(radius=R, start=START, goal=GOAL, mode='slip')
    with pytest.raises(ParameterError, match='goal: u_s'):
        SpinRollingProblem(
            radius=R, start=START, goal=GOAL, region=ContactRegion(u_bounds=(-0.1, 0.1))
        )


def test_plan_is_written_and_read():
    plan = plan_spin_rolling(SpinRollingProblem(radius=R, start=START, goal=GOAL))
    again = Plan.from_dict(plan.to_dict())
    assert np.array_equal(again.states, plan.states)
    assert again.report['method'] == 'polylines'


def test_start_that_is_the_goal_rests():
    plan = plan_spin_rolling(SpinRollingProblem(radius=R, start=START, goal=START))
    assert plan.report['length'] == 0
    assert np.all(plan.controls == 0)
