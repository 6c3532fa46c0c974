"""A cylinder that three compliant fingertips carry through waypoints, rolling on it."""

from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
import math
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner.problem.scenario import read_problem
from rolling_planner.seeds.guess import carried_guesses

_FILE = Path(__file__).parents[2] / 'examples/planning/carried_cylinder.py'
_SPEC = spec_from_file_location('carried_cylinder', _FILE)
example = module_from_spec(_SPEC)
_SPEC.loader.exec_module(example)


@pytest.mark.parametrize(
    ('diameter', 'legs'),
    [(0.08, 1), *(pytest.param(d, 4, marks=pytest.mark.slow) for d in (0.06, 0.08, 0.1))],
)
def test_fingertips_carry_a_cylinder_through_waypoints(diameter, legs):
    """Planned leg by leg and simulated with the planned controls: at most 1 mm from each."""
    problem, waypoints = example.grasped(diameter), example.WAYPOINTS[:legs]
    layout, before = problem.system.state, problem.x_start
    for plan, (position, turn) in zip(
        example.carried(diameter, waypoints), waypoints, strict=True
    ):
        assert np.linalg.norm(plan.states[0] - before) < 1e-6
        at = [layout.unpack(x) for x in plan.states]
        assert np.linalg.norm(at[-1]['p_cylinder'] - position) < 1e-4  # 1e-3 is asked for
        q = at[-1]['q_cylinder']
        assert 2 * math.atan2(q[3], q[0]) == pytest.approx(turn, abs=1e-3)
        assert np.abs(q[1:3]).max() < 1e-3
        # each contact in its cone, and at most 4 mm deep, between the nodes too
        margins = plan.report['least_margins']
        assert set(margins) == {
            f'{what}_tip_{k}' for what in ('normal_force', 'friction', 'depth') for k in (1, 2, 3)
        }
        assert min(margins.values()) > 0
        for x in at:
            away = [np.linalg.norm((x[f'p_tip_{k}'] - x['p_cylinder'])[:2]) for k in (1, 2, 3)]
            sunk = diameter / 2 + example.TIP - np.array(away)  # the axis leans by 1e-3 at most
            assert sunk.min() > 0
            assert sunk.max() < example.DEPTH
        before = plan.states[-1]


def test_a_ball_that_only_a_loop_turns_has_no_straight_guess():
    assert not list(carried_guesses(read_problem(load_scenario('ball_between_plates'))))


def test_a_straight_guess_keeps_contacts_rolling_at_their_depth():
    problem = example.grasped(0.06)
    goal = {**problem.goal, 'p_cylinder': np.array([0.02, 0.01, 0.01])}
    (guess,) = carried_guesses(replace(problem, goal=goal))
    system, p = problem.system, problem.p
    for t in np.linspace(0.0, 1.0, 11):
        x = guess.states(np.array([t]))[0]
        slips, gaps = system.row_function(x, p)[0], system.gap_function(x, p)
        assert np.abs(np.array(slips)).max() < 1e-9
        assert np.array(gaps).ravel() == pytest.approx([-example.SUNK] * 3, abs=1e-5)
    assert x[system.state.slice('p_cylinder')] == pytest.approx([0.02, 0.01, 0.01], abs=1e-5)
