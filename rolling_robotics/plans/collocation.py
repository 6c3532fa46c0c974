"""Plans by optimisation: every system that has no planner of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rolling_dynamics.scenario import Scenario
from rolling_planner import Iteration, plan_rolling
from rolling_planner.problem.goal import goal_error, goal_misses
from rolling_planner.problem.plan_section import PlanSection
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.plans.planned import Planned
from rolling_robotics.result_arrays import Values

SECTION = PlanSection
LINES = {
    'segments': ('segments', 'd'),
    'iterations': ('iterations', 'd'),
    'cost': ('cost', '.6g'),
    'cpu_seconds': ('CPU time [s]', '.3g'),
}


def check(scenario: Scenario) -> None:
    """Raise a RollingError unless the section ``plan`` of a scenario is good."""
    read_problem(scenario)


def plan(scenario: Scenario, on_iteration: Callable[[Iteration], bool]) -> Planned:
    """Return the plan that a scenario asks for."""
    problem = read_problem(scenario)
    found = plan_rolling(problem, on_iteration)
    system = scenario.system
    x_goal, matters = problem.goal_state
    goal = {
        e.name: {'unit': e.unit, 'values': x_goal[system.state.slice(e.name)]}
        for e in system.state.entries
        if matters[system.state.slice(e.name)].all()
    }

    def entries(end: Values) -> dict[str, Any]:
        return {'goal_misses': goal_misses(problem, end), 'goal': goal}

    return Planned(
        scenario=replace(scenario, x0=problem.x_start),
        plan=found,
        goal_error=lambda end: goal_error(problem, end),
        tolerance=problem.goal_tolerance,
        lines=LINES,
        entries=entries,
        events=dict.fromkeys(next(iter(system.modes.values())).guards, 'record'),
    )
