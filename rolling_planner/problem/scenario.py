"""The section ``plan`` of a scenario as a planning problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Any

import numpy as np
from rolling_dynamics.contract.capabilities import ChartCoordinates, offers
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import line_numbers
from rolling_dynamics.scenario.faults import check, located
from rolling_planner.plan import Plan
from rolling_planner.problem.plan_problem import BY_SAMPLES, PlanProblem


@line_numbers
def read_problem(scenario: Scenario) -> PlanProblem:
    """
    Return the planning problem of a scenario.

    Parameters
    ----------
    scenario
        A scenario with a section ``plan``.

    Raises
    ------
    ScenarioError
        There is no such section, or an entry is wrong; the text starts with its path.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import read_problem
    >>> problem = read_problem(load_scenario('ball_on_plate_straight'))
    >>> problem.horizon, problem.goal['contact_h'].tolist(), problem.goal_tolerance
    (2.0, [0.0, -0.033], 0.1)

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing; add this section, with the goal of the plan')
    charted = offers(scenario.system, ChartCoordinates)
    if charted is not None and not charted.on_first_chart:
        raise ScenarioError(
            'initial: a plan cannot start at a pole of the chart of the hand; start elsewhere, or '
            'choose another `pole` of its surface'
        )
    problem = check(PlanProblem, raw, 'plan', known_of(scenario))
    by_samples = problem.method == BY_SAMPLES
    if 'hybrid' in scenario.raw and not by_samples:
        raise ScenarioError(
            f'plan.method: must be {BY_SAMPLES} with `hybrid`, got {problem.method}, which '
            'plans motions that roll throughout'
        )
    with located('limits'):
        return replace(
            problem,
            control_limits=control_limits(scenario, problem.active_controls),
            warm_start=_first(scenario) if by_samples else None,
        )


def known_of(scenario: Scenario) -> dict[str, Any]:
    """Return the arguments of :class:`.PlanProblem` from a scenario."""
    return {
        'system': scenario.system,
        'p': scenario.p,
        'x_start': scenario.x0,
        'horizon': scenario.duration,
    }


def control_limits(scenario: Scenario, active: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return minimum and maximum of the controls with limits, by scalar name."""
    limits = zip(scenario.system.control.names, scenario.control_limits.tolist(), strict=True)
    return {n: (-high, high) for n, high in limits if n in active and math.isfinite(high)}


def _first(scenario: Scenario) -> Plan | None:
    """Return the hand's motion of a scenario as an initial plan, None without one."""
    if scenario.control.samples is None:
        return None
    times, controls = scenario.control.samples
    times = np.asarray(times, dtype=float)
    rising = np.concatenate([[True], np.diff(times) > 0])
    return Plan.of(
        scenario.system,
        times=times[rising],
        states=np.tile(scenario.x0, (int(rising.sum()), 1)),
        controls=np.asarray(controls, dtype=float)[rising],
    )
