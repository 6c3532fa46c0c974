"""Plans of the sphere with a pendulum: a sequence of gaits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from rolling_dynamics.pendulum_sphere.layouts import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import located
from rolling_dynamics.scenario.scenario import Tolerances
from rolling_planner import Iteration
from rolling_planner.gait_planner import plan_gaits
from rolling_planner.gait_planner.scenario import GaitPlan, read_gait_problem
from rolling_robotics.plans.planned import Planned
from rolling_robotics.result_arrays import Values

RATE = 1000.0  # samples of the torque a second
TOLERANCES = Tolerances(relative=1e-10, absolute=1e-12)  # the torque is linear between samples
SECTION = GaitPlan
LINES = {
    'swings': ('swings', 'd'),
    'duration': ('duration [s]', '.6g'),
    'energy': ('energy [J]', '.4g'),
    'peak_torque': ('peak torque [N m]', '.4g'),
    'friction': ('friction needed', '.4g'),
    'cpu_seconds': ('CPU time [s]', '.3g'),
}


def check(scenario: Scenario) -> None:
    """Raise a RollingError unless the section ``plan`` of a scenario is good."""
    read_gait_problem(scenario)


def compare(scenario: Scenario) -> list[dict[str, Any]]:
    """Return rows of the same motion by gaits, by collocation, and by its fastest success."""
    from rolling_planner.gait_planner.direct_comparison import compare as both  # noqa: PLC0415

    with located('plan'):
        found = both(read_gait_problem(scenario))
    return [{'way': name, **row} for name, row in found.rows.items()]


def plan(scenario: Scenario, _on_iteration: Callable[[Iteration], bool]) -> Planned:
    """Return the manoeuvre that a scenario asks for."""
    problem = read_gait_problem(scenario)
    sequence = plan_gaits(problem)
    found = sequence.to_plan(RATE)
    last = problem.waypoints[-1]
    swings = [
        {
            'start': s.start,
            'period': s.swing.period,
            'amplitude': s.swing.amplitude,
            'direction': s.swing.direction,
            'velocity_change': s.swing.velocity_change,
            'corner': s.corner,
        }
        for s in sequence.steps
    ]

    def error(end: Values) -> float:
        return float(np.hypot(*(end[STATE.slice('contact')] - last.position)))

    def entries(_: Values) -> dict[str, Any]:
        return {'swings': swings}

    return Planned(
        scenario=replace(scenario, tolerances=TOLERANCES),
        plan=replace(found, report={**found.report, 'swings': len(swings)}),
        goal_error=error,
        tolerance=last.tolerance,
        lines=LINES,
        entries=entries,
    )
