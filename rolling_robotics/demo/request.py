"""What a demonstration asks of the planner: the section ``plan`` of its scenario as a goal."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_planner.problem.scenario import read_problem
from rolling_planner.spin_rolling.scenario import SpinRollingPlan


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """
    A goal of the action ``plan_rolling``.

    Attributes
    ----------
    text
        The goal in words.
    goal
        Values by scalar name; empty for the goal that the planner's own scenario tells.
    horizon
        Duration of the motion [s]; 0 for the shortest.

    """

    text: str
    goal: dict[str, float] = field(default_factory=dict)
    horizon: float = 0.0


def state_goal(scenario: Scenario) -> PlanRequest:
    """Return the goal of a plan by collocation: values of the state after a given time."""
    problem = read_problem(scenario)
    layout = problem.system.state
    goal: dict[str, float] = {}
    for name, values in problem.goal.items():
        if values is not None:
            names = layout.entry(name).components if name in layout else (name,)
            goal |= dict(zip(names, np.ravel(values).tolist(), strict=True))
    return PlanRequest(text=_listed(goal), goal=goal, horizon=problem.horizon)


def contact_goal(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere that rolls and spins: contact coordinates, at its own pace."""
    plan = check(SpinRollingPlan, scenario.raw.get('plan', {}), 'plan')
    goal = plan.goal.model_dump(exclude_unset=True)
    return PlanRequest(text=_listed(goal), goal=goal)


def manoeuvre(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere with a pendulum: the manoeuvre of its scenario."""
    problem = read_gait_problem(scenario)
    x, y = problem.waypoints[-1].position
    rests = sum(w.wait is not None for w in problem.waypoints[:-1])
    return PlanRequest(
        text=f'rest at ({x:g}, {y:g}) m, by way of {len(problem.waypoints) - 1} waypoints '
        f'({rests} with a rest) between {len(problem.obstacles)} obstacles'
    )


def _listed(goal: dict[str, float]) -> str:
    return ', '.join(f'{name} = {value:.4g}' for name, value in goal.items())
