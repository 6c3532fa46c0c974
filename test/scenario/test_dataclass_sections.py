"""Sections that are dataclasses: one class for the file and for Python."""

import math

import numpy as np
import pytest
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.scenario.faults import check
from rolling_planner.gait_planner.scenario import GaitPlan, Waypoint
from rolling_planner.spin_rolling import ContactRegion, InputBounds
from rolling_planner.spin_rolling.scenario import SpinRollingPlan


@pytest.mark.parametrize(
    ('given', 'path', 'text'),
    [
        ({'region': {'u_bound': [0, 1]}}, 'plan.region.u_bound', "did you mean 'u_bounds'"),
        ({'region': {'u_bounds': [0]}}, 'plan.region.u_bounds', 'takes 2 entries [m], got 1'),
        ({'region': {'u_bounds': ['pi', 1]}}, 'plan.region', 'u_bounds must increase [m]'),
        ({'region': [1]}, 'plan.region', 'must be a mapping, got [1]'),
        ({'bounds': {'delta': True}}, 'plan.bounds.delta', 'must be a number or a formula [m/s]'),
        ({'bounds': {'delta': 0}}, 'plan.bounds', 'delta must be positive and finite'),
    ],
)
def test_fault_is_reported_with_its_path(given, path, text):
    with pytest.raises(ScenarioError) as e:
        check(SpinRollingPlan, {'goal': {'u_s': 0.1}, **given}, 'plan')
    assert str(e.value).startswith(f'{path}: ')
    assert text in str(e.value)


def test_entries_of_a_waypoint_are_read_as_its_arguments():
    plan = check(GaitPlan, {'waypoints': [{'position': ['pi', 1], 'wait': 2}]}, 'plan')
    assert plan.waypoints == [Waypoint(position=(math.pi, 1.0), wait=2.0)]
    assert plan.limits == GaitLimits()
    with pytest.raises(ScenarioError, match=r'^plan\.waypoints\[0\]\.position: is missing'):
        check(GaitPlan, {'waypoints': [{'wait': 2}]}, 'plan')


def test_python_takes_what_a_file_cannot_say():
    assert InputBounds(alpha_s=math.inf).alpha_s == math.inf
    assert ContactRegion(u_bounds=(-math.inf, np.float64(1))).u_bounds[1] == 1
    with pytest.raises(ParameterError, match=r'^delta must be positive and finite \[m/s\]'):
        InputBounds(delta=-1)
