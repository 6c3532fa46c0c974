"""`rolling plan`: find the hand's motion that brings the object to its goal."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
import importlib
from pathlib import Path

HELP = 'plan the motion that a scenario asks for and write it as JSON'
DESCRIPTION = """\
Plan a motion of the hand that brings the object to the goal in the scenario's `plan` section,
simulate it, and write the plan with named arrays as `rolling simulate` does.

Exit status 1 tells that no plan was found; the text names what could not be met."""
EXAMPLE = """\
  rolling plan config/scenarios/ball_on_plate_hard.yaml --out plan.json
  rolling plot plan.json"""

# systems with planners of their own: name -> module with run(scenario, out)
OWN_PLANNERS = {
    'pendulum_sphere': 'rolling_robotics.pendulum_sphere_plan',
    'spin_rolling_sphere': 'rolling_robotics.spin_rolling_plan',
}


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('scenario', metavar='SCENARIO.yaml', help='scenario file')
    parser.add_argument('--out', metavar='FILE.json', type=Path, required=True, help='result')


def run(args: Namespace) -> int:
    """Plan."""
    from rolling_dynamics.scenario import load_scenario  # noqa: PLC0415  (--help stays fast)
    from rolling_planner import Iteration, plan_rolling  # noqa: PLC0415
    from rolling_planner.scenario import read_problem  # noqa: PLC0415
    from rolling_robotics.console import say  # noqa: PLC0415
    from rolling_robotics.files import checked_output, write_json  # noqa: PLC0415
    from rolling_robotics.interrupt import InterruptFlag  # noqa: PLC0415
    from rolling_robotics.plan_result import plan_result, plan_summary  # noqa: PLC0415
    from rolling_robotics.progress import Progress  # noqa: PLC0415

    out = checked_output(args.out, '.json')
    scenario = load_scenario(args.scenario)
    if scenario.system.name in OWN_PLANNERS:
        return int(importlib.import_module(OWN_PLANNERS[scenario.system.name]).run(scenario, out))
    problem = read_problem(scenario)
    with Progress(f'planning {scenario.name}') as progress, InterruptFlag() as interrupt:

        def on_iteration(i: Iteration) -> bool:
            progress.say(
                f'iteration {i.number} on {i.segments} segments, violation {i.violation:.2g}, '
                f'goal error {i.goal_error:.2g}'
            )
            return not interrupt.raised

        plan = plan_rolling(problem, on_iteration)
        progress.say('simulating the plan')
        result = plan_result(scenario, problem, plan)
        write_json(out, result)
    print(plan_summary(result))
    print(f'written to {out}')
    if not result['reached']:
        say(
            f'goal: the error {result["goal_error"]:.3g} exceeds the tolerance '
            f'{problem.goal_tolerance:g}'
        )
        return 1
    return 0
