"""The plan of an experiment: as of every other motion, by the section ``plan`` of its scenario."""

from __future__ import annotations

from rolling_dynamics.errors import PlanningError
from rolling_dynamics.scenario import Scenario
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_plan
from rolling_planner.plan import Plan
from rolling_planner.problem.scenario import read_problem


def experiment_plan(scenario: Scenario) -> Plan:
    """
    Return the plan that `rolling plan` finds for a scenario, once the contact is seen to hold.

    Raises
    ------
    ScenarioError, PlanningError
        There is no section ``plan``, no plan is found, or the contact does not hold along it.

    """
    plan = plan_rolling(read_problem(scenario))
    found = check_plan(scenario.system, scenario.p, plan)
    if not found.ok:
        raise PlanningError(f'the plan of {scenario.name} does not hold: {found.reason}')
    return plan
