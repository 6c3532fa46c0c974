"""The section ``plan`` of a scenario of the spin-rolling sphere as a planning problem."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import tells_lines
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_planner.spin_rolling.problem import (
    contact_of_attitude,
    SpinRollingProblem,
)


@tells_lines
def read_spin_rolling_problem(scenario: Scenario) -> SpinRollingProblem:
    """
    Return the planning problem of a scenario.

    Raises
    ------
    ScenarioError
        There is no section ``plan``, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section that holds the goal of a plan)')
    system = scenario.system
    if not isinstance(system, SpinRollingSphere):
        raise ScenarioError(f'system: a spin_rolling_sphere is needed, got {system.name!r}')
    start = contact_of_attitude(scenario.x0[:2], np.array(system.attitude(scenario.x0)))
    try:
        known = {'radius': float(scenario.p[0]), 'start': start}
        return check(SpinRollingProblem, raw, 'plan', known)
    except ScenarioError as e:
        raise ScenarioError(str(e).replace('plan.start: ', 'initial: ', 1)) from None
