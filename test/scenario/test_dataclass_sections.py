"""Sections that are dataclasses: one class for the file and for Python."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.parameters import paper_parameters
from rolling_dynamics.scenario.faults import check
from rolling_planner.gait_planner.problem import GaitProblem, Waypoint
from rolling_planner.problem import Weights
from rolling_planner.spin_rolling.motion import (
    contact_at,
    ContactRegion,
    InputBounds,
    SpinRollingProblem,
)

SPHERE = {'radius': 0.1, 'start': contact_at([0, 0, 0, 0, 0])}
PENDULUM = {'params': paper_parameters(), 'start': (0.0, 0.0)}


@pytest.mark.parametrize(
    ('given', 'path', 'text'),
    [
        ({'region': {'u_bound': [0, 1]}}, 'plan.region.u_bound', "did you mean 'u_bounds'"),
        ({'region': {'u_bounds': [0]}}, 'plan.region.u_bounds', 'takes 2 entries [m], got 1'),
        ({'region': {'u_bounds': ['pi', 1]}}, 'plan.region.u_bounds', 'must increase [m]'),
        ({'region': [1]}, 'plan.region', 'must be a mapping, got [1]'),
        ({'bounds': {'delta': True}}, 'plan.bounds.delta', 'must be a number or a formula [m/s]'),
        ({'radius': 0.2}, 'plan.radius', 'unknown entry; there are: goal, mode'),
        ({'start': None}, 'plan.start', 'unknown entry; there are: goal, mode'),
        ({'goal': {'v_s': []}}, 'plan.goal.v_s', 'must be a number or a formula [m], got []'),
        ({'goal': {}}, 'plan.goal', 'at least one entry is needed'),
        ({'optimise': 1}, 'plan.optimise', 'must be true or false, got 1'),
        ({'shots': 40}, 'plan.shots', "mode 'pure_rolling' is planned in closed form"),
        ({'seed': 0}, 'plan.seed', 'leave it out'),
        ({'bounds': {'delta': 0}}, 'plan.bounds.delta', 'must be positive and finite'),
    ],
)
def test_fault_is_reported_with_its_path(given, path, text):
    with pytest.raises(ScenarioError) as e:
        check(SpinRollingProblem, {'goal': {'u_s': 0.1}, **given}, 'plan', SPHERE)
    assert str(e.value).startswith(f'{path}: ')
    assert text in str(e.value)


def test_entries_of_a_waypoint_are_read_as_its_arguments():
    plan = check(
        GaitProblem, {'waypoints': [{'position': ['pi', 1], 'wait': 2}]}, 'plan', PENDULUM
    )
    assert plan.waypoints == [Waypoint(position=(math.pi, 1.0), wait=2.0)]
    assert plan.limits == GaitLimits()
    with pytest.raises(ScenarioError, match=r'^plan\.waypoints\[0\]\.position: is missing'):
        check(GaitProblem, {'waypoints': [{'wait': 2}]}, 'plan', PENDULUM)


def test_python_takes_what_a_file_cannot_say():
    assert InputBounds(alpha_s=math.inf).alpha_s == math.inf
    assert ContactRegion(u_bounds=(-math.inf, np.float64(1))).u_bounds[1] == 1
    with pytest.raises(ParameterError, match=r'^delta must be positive and finite \[m/s\]'):
        InputBounds(delta=-1)


def test_goal_keeps_what_it_does_not_name():
    start = contact_at([0.1, 0.2, 0.3, 0.4, 0.5])
    problem = check(SpinRollingProblem, {'goal': {'v_s': 0}}, 'plan', {**SPHERE, 'start': start})
    assert problem.goal[:2] == (0.1, 0.0)
    np.testing.assert_allclose(problem.goal.R_SO, start.R_SO, atol=1e-15)


def test_weights_are_refused_where_they_are_given():
    for given in ({'control': -1}, {'control': [1, -1]}, {'tracking': {'q_HO': -1.0}}):
        with pytest.raises(ParameterError, match='must be zero or positive'):
            Weights(**given)
    with pytest.raises(ParameterError, match='view must be one of'):
        Weights(view='charts')
    with pytest.raises(ScenarioError, match=r'^plan\.weights\.control: must be at least 0'):
        check(Weights, {'control': -1}, 'plan.weights')
