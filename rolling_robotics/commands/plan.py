"""
Plan the motion that a scenario asks for and write it as JSON.

Plan a motion of the hand that brings the object to the goal in the scenario's `plan` section,
simulate it, and write the plan with named arrays as `rolling simulate` does.

Exit status 1 means that no plan was found; the text names what could not be met.

example:
  rolling plan ball_on_plate_hard --out plan.json
  rolling plot plan.json
"""

from __future__ import annotations

from argparse import Namespace

from rolling_robotics.commands.arguments import add_scenario_and_result
from rolling_robotics.console import InterruptFlag, Progress, say

add_arguments = add_scenario_and_result


def run(args: Namespace) -> int:
    """Plan."""
    from rolling_dynamics.scenario import load_scenario
    from rolling_planner import Iteration
    from rolling_planner.planners.planner import planner_of
    from rolling_robotics.files import checked_output, say_written, write_json
    from rolling_robotics.result import plan_result, plan_summary

    out = checked_output(args.out, '.json')
    scenario = load_scenario(args.scenario)
    planner = planner_of(scenario.system.name)
    with Progress(f'planning {scenario.name}') as progress, InterruptFlag() as interrupt:

        def on_iteration(i: Iteration) -> bool:
            progress.say(i.line)
            return not interrupt.raised

        planned = planner.plan(scenario, on_iteration)
        progress.say('simulating the plan')
        result = plan_result(planned)
        write_json(out, result)
    say_written(out, plan_summary(result, planner.lines))
    if not result['reached']:
        say(
            f'goal: the error {result["goal_error"]:.3g} exceeds the tolerance '
            f'{planned.tolerance:g}, or the plan was not driven to its end'
        )
        return 1
    return 0
