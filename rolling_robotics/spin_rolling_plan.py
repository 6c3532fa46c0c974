"""`rolling plan` for the spin-rolling sphere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_planner.spin_rolling import (
    contact_of_attitude,
    goal_error,
    plan_spin_rolling,
)
from rolling_planner.spin_rolling.scenario import read_spin_rolling_problem
from rolling_robotics.files import write_json
from rolling_robotics.result import arrays, heading

SAMPLES = 400  # output times of the simulated plan
TOLERANCE = 1e-9


def check(scenario: Scenario) -> None:
    """Raise ScenarioError unless the section ``plan`` of a scenario is good."""
    read_spin_rolling_problem(scenario)


def run(scenario: Scenario, out: Path) -> int:
    """Plan, simulate, write and print; return the exit status."""
    result = spin_rolling_result(scenario)
    write_json(out, result)
    report = result['report']
    print(
        f'{result["name"]}: goal {"reached" if result["reached"] else "not reached"}, error '
        f'{result["goal_error"]:.3g}\n'
        f'  method        {report["method"]}\n'
        f'  length [m]    {report["length"]:.6g}, no path is shorter than '
        f'{report["least_length"]:.6g}\n'
        f'  spin [rad]    {report["spin"]:.6g}\n'
        f'  duration [s]  {result["duration"]:.6g}\n'
        f'  from a pole   {report["pole_distance"]:.4g} rad at least\n'
        f'written to {out}'
    )
    return 0 if result['reached'] else 1


def spin_rolling_result(scenario: Scenario) -> dict[str, Any]:
    """Return the plan of a scenario and its simulation as named arrays."""
    problem = read_spin_rolling_problem(scenario)
    plan = plan_spin_rolling(problem)
    system = SpinRollingSphere()
    trajectory = simulate(
        system,
        scenario.p,
        plan.states[0],
        (plan.times, plan.controls),
        plan.duration,
        t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
        rtol=scenario.tolerances.relative,
        atol=scenario.tolerances.absolute,
    )
    end = trajectory.states[-1]
    error = goal_error(contact_of_attitude(end[:2], system.attitude(end)), problem.goal)
    driven = replace(scenario, system=system, x0=plan.states[0])
    return {
        **heading('rolling/plan', driven),
        'reached': error < TOLERANCE,
        'goal_error': error,
        'goal_tolerance': TOLERANCE,
        'duration': plan.duration,
        'events': [],
        'end': float(trajectory.times[-1]),
        'report': plan.report,
        'plan': plan.to_dict(),
        'arrays': arrays(driven, trajectory),
    }
