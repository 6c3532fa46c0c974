"""A plan as a file holds it: the plan itself, and its simulation as named arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_planner import Plan
from rolling_robotics.result import arrays, heading
from rolling_robotics.result_arrays import Values
from rolling_robotics.run_scenario import follower_of

SAMPLES = 400  # output times of the simulated plan


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned:
    """
    What a planner found, and how its simulation is judged.

    Attributes
    ----------
    scenario
        System and start that the plan is for.
    plan
        The plan.
    goal_error
        Error of the state in which the plan's simulation ends.
    tolerance
        Greatest goal error of a plan that has reached its goal.
    entries
        Further entries of the file, from the state at the end.
    lines
        Entries of the report that the summary shows: key -> (title, format).
    events
        What to do where a guard falls through zero, as in a scenario.

    """

    scenario: Scenario
    plan: Plan
    goal_error: Callable[[Values], float]
    tolerance: float
    lines: Mapping[str, tuple[str, str]]
    entries: Callable[[Values], dict[str, Any]] = field(default=lambda _: {})
    events: Mapping[str, str] = field(default_factory=dict)

    def simulated(self) -> Trajectory:
        """Return the motion under the plan's controls, from its start and to its end."""
        scenario, plan = self.scenario, self.plan
        return simulate(
            scenario.system,
            scenario.p,
            scenario.x0,
            plan.control_samples(),
            plan.duration,
            t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
            rtol=scenario.tolerances.relative,
            atol=scenario.tolerances.absolute,
            events=dict(self.events),
            follower=follower_of(scenario),
        )


def plan_result(planned: Planned) -> dict[str, Any]:
    """Return plan and simulation as a file holds them; the goal error is the simulation's."""
    plan, trajectory = planned.plan, planned.simulated()
    end = trajectory.states[-1]
    error = planned.goal_error(end)
    complete = bool(trajectory.times[-1] >= plan.duration * (1 - 1e-12))
    return {
        **heading('rolling/plan', planned.scenario),
        'reached': complete and error <= planned.tolerance,
        'goal_error': error,
        'goal_tolerance': planned.tolerance,
        **planned.entries(end),
        'duration': plan.duration,
        'end': float(trajectory.times[-1]),
        'events': [
            {'name': e.name, 'time': e.time, 'stops': e.terminal, 'text': e.text}
            for e in trajectory.events
        ],
        'report': plan.report,
        'plan': plan.to_dict(),
        'arrays': arrays(planned.scenario, trajectory),
    }


def plan_summary(result: dict[str, Any], lines: Mapping[str, tuple[str, str]]) -> str:
    """Return a few lines for people."""
    report = result['report']
    head = 'reached' if result['reached'] else 'not reached'
    error, tolerance = result['goal_error'], result['goal_tolerance']
    text = [f'{result["name"]}: goal {head}, error {error:.3g} (tolerance {tolerance:g})']
    known = {**report, 'duration': result['duration']}
    text += [
        f'  {title:<19} {known[key]:{form}}'
        for key, (title, form) in lines.items()
        if key in known
    ]
    margins = report.get('least_margins', {})
    text += [f'  least {name:<13} {value:.4g}' for name, value in margins.items()]
    return '\n'.join(text)
