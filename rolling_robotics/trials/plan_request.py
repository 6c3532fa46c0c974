"""Goals of the action ``plan_rolling``, from the section ``plan`` of a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_planner.problem.scenario import read_problem


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """
    A goal of the action ``plan_rolling``.

    Attributes
    ----------
    text
        The goal in words.
    goal
        Values by scalar name; empty for the goal that the planner's own scenario says.
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
    return PlanRequest(text=listed(goal), goal=goal, horizon=problem.horizon)


def listed(goal: dict[str, float]) -> str:
    """Return a goal in words."""
    return ', '.join(f'{name} = {value:.4g}' for name, value in goal.items())


def progress_text(feedback: Any) -> str:  # noqa: ANN401  a message
    """Return the progress of a planner, without what it does not report."""
    parts = [f'{feedback.segments:4d} segments, iteration {feedback.iteration:3d}']
    numbers = {
        'cost': f'{feedback.cost:.4g}',
        'violation': f'{feedback.violation:.2e}',
        'goal error': f'{feedback.goal_error:.2e}',
    }
    return ', '.join([*parts, *(f'{k} {v}' for k, v in numbers.items() if v != 'nan')])
