"""The laboratory's experiments are planned for like any other scenario, and checked."""

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_plan
from rolling_planner.problem.scenario import read_problem

UPRIGHT = [0, 0, 1]
ENDS = {  # direction of the object's z axis in the hand at the end
    'laboratory_damping': [-1, 0, 0],
    'balance_ellipsoid': UPRIGHT,
    'laboratory_flip_up': UPRIGHT,
}


@pytest.mark.parametrize(
    'name',
    [
        'laboratory_damping',
        pytest.param('balance_ellipsoid', marks=pytest.mark.slow),
        pytest.param('laboratory_flip_up', marks=pytest.mark.slow),
    ],
)
def test_plan_from_the_scenario_reaches_its_end_and_is_held_by_the_contact(name):
    scenario = load_scenario(name)
    problem = read_problem(scenario)
    plan = plan_rolling(problem)
    s, end = scenario.system.state, plan.states[-1]
    w, x, y, z = end[s.slice('q_HO')]
    axis = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(axis, ENDS[name], atol=2e-3)
    np.testing.assert_allclose(end[s.slice('p_WH')], 0, atol=2e-3)
    np.testing.assert_allclose(end[s.slice('w_HO_H')], 0, atol=5e-3)
    assert plan.contact_wrenches[:, 5].min() > 0
    assert check_plan(scenario.system, scenario.p, plan, problem.x_start).ok


def test_the_throw_of_the_scenario_ends_in_its_release():
    scenario = load_scenario('laboratory_throw_catch')
    problem = read_problem(scenario)
    plan = plan_rolling(problem)
    release, force = plan.report['release'], plan.contact_wrenches[:, 5]
    weight = 0.0553 * 0.4 * 9.81
    assert force[:-1].min() > 0
    assert abs(force[-1]) < 1e-3 * weight
    assert release['force_rate'] < 0 < release['gap']
    motion = scenario.system.object_motion
    for name, wanted in (('v_WO_W', [0.2722, 0, 0.7937]), ('w_WO_W', [0, 6.713, 0])):
        found = np.array(motion(name)(plan.states[-1], scenario.p)).ravel()
        np.testing.assert_allclose(found, wanted, atol=0.01)
    assert check_plan(scenario.system, scenario.p, plan, problem.x_start).ok
