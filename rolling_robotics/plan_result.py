"""The plan of a scenario as a file holds it: the plan itself, and its simulation as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate, Trajectory
from rolling_dynamics.simulation.control import PiecewiseLinear
from rolling_dynamics.simulation.guards import in_mode
from rolling_dynamics.simulation.trajectory import Segment
from rolling_planner.planners.planner import Planned
from rolling_planner.refinement.rollout import Rollout
from rolling_robotics.result import arrays, follower_of, heading

SAMPLES = 400  # output times of the simulated plan


def simulated(planned: Planned) -> Trajectory:
    """Return the motion under a plan's controls or its feedback, from its start to its end."""
    scenario, plan = planned.scenario, planned.plan
    found = planned.under_feedback() if planned.under_feedback else None
    if found is not None:
        return _of_rollout(scenario, found)
    first = next(iter(scenario.system.modes.values()))
    ends = [guard for guard in first.guards if guard not in first.resets]
    return simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        plan.control_samples(),
        plan.duration,
        t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
        events=dict.fromkeys(ends, 'record'),
        follower=follower_of(scenario),
    )


def _of_rollout(scenario: Scenario, found: Rollout) -> Trajectory:
    """Return a motion under feedback, at the samples by which it was judged."""
    begin, end = float(found.times[0]), float(found.times[-1])
    system = in_mode(scenario.system, next(iter(scenario.system.modes)))
    return Trajectory(
        system=scenario.system,
        parameters=scenario.p,
        times=found.times,
        recorded=found.states,
        controls=found.controls,
        control=PiecewiseLinear(found.times, found.controls, scenario.system.control.size),
        segments=(
            Segment(system=system, parameters=scenario.p, start=begin, end=end, interpolate=None),
        ),
    )


def plan_result(planned: Planned) -> dict[str, Any]:
    """Return plan and simulation as a file holds them; the goal error is the simulation's."""
    plan, trajectory = planned.plan, simulated(planned)
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
