"""The plan of an experiment: by the section ``plan`` of its scenario, or of a file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.regular_file import read_regular
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.text import printable
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_plan
from rolling_planner.plan import Plan
from rolling_planner.plan_fit import check_plan_fits
from rolling_planner.problem.scenario import read_problem

MAX_BYTES = 100_000_000  # of a plan file
SAME_START = 1e-6  # by which each number of two starts may differ [m, rad, m/s, rad/s]


def experiment_plan(scenario: Scenario, plan_file: str = '') -> Plan:
    """
    Return the plan of an experiment, once the contact is seen to hold along it.

    Parameters
    ----------
    scenario
        What is moved, and from where.
    plan_file
        What `rolling plan` wrote for this scenario; empty to plan by its section ``plan``.

    Raises
    ------
    ScenarioError, ParameterError, PlanningError
        There is no section ``plan``, no plan is found or can be read, it starts elsewhere, or the
        contact does not hold along it.

    """
    if plan_file:
        plan = _read(Path(plan_file).expanduser())
        check_plan_fits(plan, scenario.system)
        if not np.abs(plan.states[0] - scenario.x0).max() <= SAME_START:
            raise PlanningError(
                f'{plan_file}: starts elsewhere than {scenario.name}; plan with that scenario'
            )
    else:
        plan = plan_rolling(read_problem(scenario))
    found = check_plan(scenario.system, scenario.p, plan)
    if not found.ok:
        raise PlanningError(f'the plan of {scenario.name} does not hold: {found.reason}')
    return plan


def _read(path: Path) -> Plan:
    try:
        document = json.loads(read_regular(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f'{path}: is not JSON: {printable(error, 200)}') from None
    if not isinstance(document, dict) or 'plan' not in document:
        raise ParameterError(f'{path}: holds no plan; `rolling plan` writes one')
    return Plan.from_dict(document['plan'])
