"""`rolling plan` for the sphere with a pendulum: a sequence of gaits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.simulation import simulate
from rolling_planner.gait_planner import plan_gaits
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_robotics.files import write_json
from rolling_robotics.result import arrays, heading

SAMPLES = 400  # output times of the simulated plan


def run(scenario: Scenario, out: Path) -> int:
    """Plan, simulate, write and print; return the exit status."""
    result = gait_result(scenario)
    write_json(out, result)
    report = result['report']
    print(
        f'{result["name"]}: goal {"reached" if result["reached"] else "not reached"}, error '
        f'{result["goal_error"]:.3g} m\n'
        f'  swings              {len(result["swings"])}\n'
        f'  duration [s]        {result["duration"]:.6g}\n'
        f'  energy [J]          {report["energy"]:.4g}\n'
        f'  peak torque [N m]   {report["peak_torque"]:.4g}\n'
        f'  friction needed     {report["friction"]:.4g}\n'
        f'  CPU time [s]        {report["cpu_seconds"]:.3g}\n'
        f'written to {out}'
    )
    return 0 if result['reached'] else 1


def gait_result(scenario: Scenario) -> dict[str, Any]:
    """Return the sequence of gaits of a scenario, and its torque simulated open loop."""
    problem = read_gait_problem(scenario)
    sequence = plan_gaits(problem)
    plan = sequence.to_plan(1000.0)
    trajectory = simulate(
        scenario.system,
        scenario.p,
        scenario.x0,
        (plan.times, plan.controls),
        plan.duration,
        t_eval=np.linspace(0, plan.duration, SAMPLES + 1),
        rtol=1e-10,
        atol=1e-12,
    )
    goal, tolerance = problem.waypoints[-1].position, problem.waypoints[-1].tolerance
    error = float(np.hypot(*(trajectory.states[-1, :2] - goal)))
    complete = bool(trajectory.times[-1] >= plan.duration * (1 - 1e-12))
    return {
        **heading('rolling/plan', scenario),
        'reached': complete and error <= tolerance,
        'goal_error': error,
        'goal_tolerance': tolerance,
        'duration': plan.duration,
        'end': float(trajectory.times[-1]),
        'events': [
            {'name': e.name, 'time': e.time, 'stops': e.terminal, 'text': e.text}
            for e in trajectory.events
        ],
        'report': plan.report,
        'swings': [
            {
                'start': s.start,
                'period': s.swing.period,
                'amplitude': s.swing.amplitude,
                'direction': s.swing.direction,
                'velocity_change': s.swing.velocity_change,
                'corner': s.corner,
            }
            for s in sequence.steps
        ],
        'plan': plan.to_dict(),
        'arrays': arrays(scenario, trajectory),
    }
