"""What the controller asks of the planner for a pursuit comes there as it was meant."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose
import pytest
from rolling_controller.nodes.planner_client import plan_goal
from rolling_dynamics.errors import ParameterError
from rolling_planner.nodes.goal_request import goal_job, split_start
from rolling_planner.nodes.planner_node import TABLE
from rolling_planner.plan import Plan
from rolling_planner.planners.job import planning_model
from rolling_planner.planners.planner import Request

pytestmark = pytest.mark.ros
OPTIONS = {parameter.name: parameter.default for parameter in TABLE}


def received(goal, model):
    """Return the problem that the planner makes of a goal."""
    state, controls = split_start(goal, model)
    job = goal_job(goal, model, OPTIONS, 'world', 2.0)
    start = np.array([state[name] for name in model.scenario.system.state.names])
    fields = {name: job[name] for name in ('goal', 'horizon', 'method', 'options')}
    return model.planner.problem(
        model.scenario, Request(start=start, start_controls=controls, **fields)
    )


def test_start_controls_goal_and_duration_arrive():
    model = planning_model('ball_on_plate_hard.yaml')
    own = model.planner.problem(model.scenario)
    wanted = replace(
        own,
        x_start=own.x_start + 0.01 * (np.arange(len(own.x_start)) > 15),
        goal={'q_WH': [1.0, 0.0, 0.0, 0.0], 'contact_h': None, 'p_WO_x': 0.05},
        start_controls={own.active_controls[0]: 3.0},
        horizon=1.25,
    )
    found = received(plan_goal(wanted), model)
    assert_allclose(found.x_start, wanted.x_start)
    assert found.start_controls == wanted.start_controls
    assert found.horizon == wanted.horizon
    assert set(found.goal) == {'q_WH', 'p_WO_x'}
    assert_allclose(found.object_goal['p_WO'][0], [0.05, 0.0, 0.0])


def test_plan_to_start_from_goes_over_none():
    model = planning_model('ball_on_plate_hard.yaml')
    own = model.planner.problem(model.scenario)
    at_rest = np.tile(own.x_start, (2, 1))
    plan = Plan.of(
        own.system, times=np.array([0.0, 1.0]), states=at_rest, controls=np.zeros((2, 6))
    )
    request = Request(start=own.x_start, goal={}, horizon=1.0, options=OPTIONS, warm_start=plan)
    assert model.planner.problem(model.scenario, request).warm_start is plan


def test_planner_without_use_for_them_takes_no_controls_at_the_start():
    model = planning_model('ball_on_plate_hard.yaml')
    goal = plan_goal(
        replace(model.planner.problem(model.scenario), start_controls={'alpha_WH_H_x': 1.0})
    )
    gaits = planning_model('pendulum_course.yaml')
    state, controls = split_start(goal, gaits)
    assert controls == {}
    with pytest.raises(ParameterError, match='duplicate'):
        split_start(type(goal)(start_names=['alpha_WH_H_x'] * 2, start_values=[1.0, 2.0]), model)
    assert 'alpha_WH_H_x' in state  # refused as no state, by its name
