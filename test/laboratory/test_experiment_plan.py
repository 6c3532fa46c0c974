"""The plan of an experiment may come from a file that `rolling plan` wrote."""

from dataclasses import replace
import json

import numpy as np
import pytest
from rolling_controller.laboratory import laws as module
from rolling_controller.laboratory.laws import subject_of
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_model
from rolling_planner.plan import Plan

SCENARIO = load_scenario('laboratory_damping')


@pytest.fixture
def resting(tmp_path):
    """Writes the plan of staying where the scenario starts, changed, and returns its file."""

    def write(**changes):
        system, path = SCENARIO.system, tmp_path / 'plan.json'
        plan = Plan.of(
            system,
            times=np.array([0.0, 0.02]),
            states=np.tile(SCENARIO.x0, (2, 1)),
            controls=np.zeros((2, system.control.size)),
        )
        path.write_text(json.dumps({'plan': replace(plan, **changes).to_dict()}))
        return str(path)

    return write


def test_a_plan_that_holds_is_taken_and_nothing_is_planned(resting, monkeypatch):
    monkeypatch.setattr(module, 'plan_rolling', lambda _: pytest.fail('it was planned'))
    found = module.experiment_plan(SCENARIO, resting())
    assert found.states == pytest.approx(np.tile(SCENARIO.x0, (2, 1)))


def test_a_plan_that_throws_the_object_off_is_refused(resting):
    down = np.zeros((2, 6))
    down[:, 5] = -20.0
    with pytest.raises(PlanningError, match=r'laboratory_damping does not hold: .*normal'):
        module.experiment_plan(SCENARIO, resting(controls=down))


def test_a_plan_from_elsewhere_is_refused(resting):
    states = np.tile(SCENARIO.x0, (2, 1))
    states[:, SCENARIO.system.state.slice('contact_h').start] += 1e-3
    with pytest.raises(PlanningError, match='starts elsewhere than laboratory_damping'):
        module.experiment_plan(SCENARIO, resting(states=states))


def test_a_plan_of_another_model_is_refused(resting):
    with pytest.raises(ParameterError, match=r'plan\.model_hash'):
        module.experiment_plan(SCENARIO, resting(model_hash='0'))


@pytest.mark.parametrize(
    ('text', 'said'),
    [('{', 'is not JSON'), ('[1]', 'holds no plan'), ('{"plan": 3}', 'this is not a plan')],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path, text, said):
    path = tmp_path / 'plan.json'
    path.write_text(text)
    with pytest.raises(ParameterError, match=said):
        module.experiment_plan(SCENARIO, str(path))


def test_an_experiment_without_a_plan_takes_no_file():
    with pytest.raises(ParameterError, match='plan_file: damping follows no plan'):
        subject_of('damping', load_model('laboratory_damping'), 'plan.json')
