"""
One plan in a process of its own, CPU time from the start of Python: ``... one_plan hard``.

What it prints is JSON; the plan is judged by another integrator than the planner's after the clock
has stopped.
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    """Plan, stop the clock, judge, print."""
    from evidence.benchmarks.plans import PROBLEMS  # noqa: PLC0415
    from rolling_planner import plan_rolling  # noqa: PLC0415  (imports are part of the time)

    imported = time.process_time()
    problem = PROBLEMS[sys.argv[1]]()
    stated = time.process_time()
    marks: list[float] = []

    def on_iteration(_: object) -> bool:
        marks.append(time.monotonic())
        return True

    began = time.monotonic()
    plan = plan_rolling(problem, on_iteration)
    cpu, wall = time.process_time(), time.monotonic() - began

    import numpy as np  # noqa: PLC0415
    from rolling_dynamics.simulation import simulate  # noqa: PLC0415
    from rolling_planner.problem.goal import goal_error  # noqa: PLC0415

    points = np.linspace(0.0, plan.duration, 50 * (len(plan.times) - 1) + 1)
    states = simulate(
        problem.system,
        problem.p,
        problem.x_start,
        plan.control_samples(),
        plan.duration,
        t_eval=points,
        events=(),
    ).states
    controls = plan.controls_at(points)
    wrench_of = next(iter(problem.system.modes.values())).wrench
    if wrench_of is None:
        raise SystemExit('the system has no contact')
    wrench = np.array(wrench_of.map(len(points))(states.T, controls.T, 0, problem.p))
    params = problem.system.parameters.unpack(problem.p)
    weight = float(params['mass'][0] * np.linalg.norm(params['gravity_W']))
    excess = np.hypot(wrench[3], wrench[4]) - params['mu'][0] * wrench[5]
    print(
        json.dumps(
            {
                'cpu': cpu,
                'import_cpu': imported,
                'problem_cpu': stated - imported,
                'wall': wall,
                'longest_silence': float(np.diff(marks).max()),
                'goal_error': goal_error(problem, states[-1]),
                'cone_excess': float(excess.max()) / weight,
                'least_normal_force': float(wrench[5].min()) / weight,
                'segments': plan.report['segments'],
                'iterations': plan.report['iterations'],
            }
        )
    )


if __name__ == '__main__':
    main()
