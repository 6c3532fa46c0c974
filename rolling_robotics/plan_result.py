"""A plan as a file holds it: the plan itself, and its simulation as named arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate
from rolling_planner import Plan, PlanProblem
from rolling_planner.goal import goal_error, goal_misses
from rolling_robotics.result import arrays, heading

SAMPLES = 400  # output times of the simulated plan


def plan_result(scenario: Scenario, problem: PlanProblem, plan: Plan) -> dict[str, Any]:
    """
    Return the result of a planning problem.

    The plan's controls are simulated from the start with the scenario's tolerances, to the end;
    goal error, events and arrays are those of this simulation.
    """
    trajectory = simulate(
        scenario.system,
        scenario.p,
        problem.x_start,
        (plan.times, plan.controls),
        plan.duration,
        t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
        events=dict.fromkeys(next(iter(scenario.system.modes.values())).guards, 'record'),
    )
    system, end = scenario.system, trajectory.states[-1]
    x_goal, matters = problem.goal_state
    error = goal_error(problem, end)
    return {
        **heading('rolling/plan', scenario),
        'reached': error <= problem.goal_tolerance,
        'goal_error': error,
        'goal_tolerance': problem.goal_tolerance,
        'goal_misses': goal_misses(problem, end),
        'goal': {
            e.name: {'unit': e.unit, 'values': x_goal[system.state.slice(e.name)]}
            for e in system.state.entries
            if matters[system.state.slice(e.name)].all()
        },
        'duration': plan.duration,
        'end': float(trajectory.times[-1]),
        'events': [
            {'name': e.name, 'time': e.time, 'stops': e.terminal, 'text': e.text}
            for e in trajectory.events
        ],
        'report': plan.report,
        'plan': plan.to_dict(),
        'arrays': arrays(scenario, trajectory),
    }


def plan_summary(result: dict[str, Any]) -> str:
    """Return a few lines for people."""
    report = result['report']
    head = 'reached' if result['reached'] else 'not reached'
    error, tolerance = result['goal_error'], result['goal_tolerance']
    lines = [f'{result["name"]}: goal {head}, error {error:.3g} (tolerance {tolerance:g})']
    lines += [
        f'  {title:<19} {report[key]:{form}}'
        for key, title, form in (
            ('segments', 'segments', 'd'),
            ('iterations', 'iterations', 'd'),
            ('cost', 'cost', '.6g'),
            ('cpu_seconds', 'CPU time [s]', '.3g'),
        )
        if key in report
    ]
    margins = report.get('least_margins', {})
    lines += [f'  least {name:<13} {value:.4g}' for name, value in margins.items()]
    return '\n'.join(lines)
