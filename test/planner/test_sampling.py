"""Plans by samples: motions that slide, fly and land, and what is refused."""

import json

import numpy as np
import pytest
from rolling_dynamics.compiled import compiler
from rolling_dynamics.errors import ParameterError, PlanningError, ScenarioError
from rolling_dynamics.scenario import load_scenario
from rolling_planner import Plan, PlanProblem
from rolling_planner.check_plan import check_plan
from rolling_planner.problem.goal import goal_error, goal_misses
from rolling_planner.problem.scenario import read_problem
from rolling_planner.sampling import plan_by_samples
from rolling_robotics.cli import main
from rolling_robotics.named_system import named_system

THROWN = 'ball_thrown_to_place'


@pytest.fixture
def compiled(monkeypatch):
    if compiler() is None:
        pytest.skip('no C compiler')
    monkeypatch.setenv('ROLLING_COMPILE', 'now')


def disk(**changes):
    """Return a problem of the disk whose mass is to bring it 50 mm on."""
    system, p, x = named_system('point_mass_disk')[:3]
    given = {
        'system': system,
        'p': p,
        'x_start': x,
        'goal': {system.state.names[0]: x[0] + 0.05},
        'horizon': 0.5,
        'active_controls': system.control.names[:1],
        'goal_tolerance': 5e-3,
        'control_limits': 5.0,
        'method': 'cross_entropy',
        'segments': 2,
        'iterations': 40,
    }
    return PlanProblem(**given | changes)


@pytest.mark.slow  # some thousand motions
@pytest.mark.usefixtures('compiled')
def test_controls_lead_to_the_goal_and_are_the_same_again():
    problem, seen = disk(), []
    plan = plan_by_samples(problem, seen.append)
    assert goal_error(problem, plan.states[-1]) <= problem.goal_tolerance
    assert goal_error(problem, plan.states[0]) > 0.04
    assert np.abs(plan.controls[:, :1]).max() <= 5.0
    assert not plan.controls[:, 1:].any()
    errors = [i.goal_error for i in seen]
    assert errors[-1] < 0.5 * errors[0]
    np.testing.assert_array_equal(plan_by_samples(problem).controls, plan.controls)


def test_what_cannot_be_is_told():
    with pytest.raises(ParameterError, match=r'control_limits: .* needs limits'):
        plan_by_samples(disk(control_limits=np.inf))
    with pytest.raises(PlanningError, match=r'2 generations of .* goal error'):
        plan_by_samples(disk(iterations=2, goal_tolerance=1e-9))


def test_collocation_is_refused_for_an_object_that_may_slide():
    scenario = load_scenario(THROWN)
    document = dict(scenario.raw)
    document['plan'] = document['plan'] | {'method': 'trapezoidal'}
    with pytest.raises(ScenarioError, match=r'plan\.method: must be cross_entropy'):
        read_problem(load_scenario(document))


def test_a_goal_of_a_ball_that_may_slide_says_nothing_of_its_rest():
    problem = read_problem(load_scenario(THROWN))
    assert set(goal_misses(problem, problem.x_start)) == {'p_HO_H', 'v_WH_H'}


@pytest.mark.slow
@pytest.mark.usefixtures('compiled')
def test_a_ball_is_thrown_to_another_place(tmp_path):
    """It leaves the plate, lands, slides, and is at its goal in the end."""
    out = tmp_path / 'plan.json'
    assert main(['plan', THROWN, '--out', str(out)]) == 0
    result = json.loads(out.read_text())
    assert result['goal_error'] <= result['goal_tolerance']
    names = [event['name'] for event in result['events']]
    assert names.index('lift_off') < names.index('landing')
    assert 'stick' in names[names.index('landing') :]  # it slid until then
    scenario, plan = load_scenario(THROWN), Plan.from_dict(result['plan'])
    checked = check_plan(scenario.system, scenario.p, plan)
    assert checked.ok, checked.reason
    end = dict(zip(plan.state_names, checked.trajectory.states[-1], strict=True))
    assert end['p_HO_H_x'] == pytest.approx(0.1, abs=5e-3)


def test_a_ball_that_leaves_the_plate_for_good_is_no_good_plan():
    scenario = load_scenario(THROWN)
    controls = np.zeros((2, scenario.system.control.size))
    controls[:, scenario.system.control.index('a_WH_H_x')] = -4.0
    plan = Plan.of(
        scenario.system,
        times=np.array([0.0, 1.0]),
        states=np.tile(scenario.x0, (2, 1)),
        controls=controls,
    )
    checked = check_plan(scenario.system, scenario.p, plan)
    assert not checked.ok
    assert 'edge' in checked.reason
    assert 0 < checked.first_failure_time < 1
