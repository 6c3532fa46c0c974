"""
Simulate a scenario and write the result as JSON.

Simulate a scenario and write states in both representations, poses, contact wrench, margins,
energy and events as named arrays with units.

Exit status 1 means that the contact left its envelope (slip, lift-off, edge of the hand, a
hole in the board) or that the hand's motion exceeds its limits; the file is written all the
same.

example:
  rolling simulate spinning_plate --out plate.json
  rolling plot plate.json
"""

from __future__ import annotations

from argparse import Namespace

from rolling_robotics.commands.arguments import add_scenario_and_result
from rolling_robotics.console import Progress, say

add_arguments = add_scenario_and_result


def run(args: Namespace) -> int:
    """Simulate."""
    from rolling_dynamics.plugin import role_of
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.files import checked_output, say_written, write_json
    from rolling_robotics.result import (
        simulate_scenario,
        simulation_result,
        summary,
        violations,
    )

    out = checked_output(args.out, '.json')
    scenario = load_scenario(args.scenario)
    with Progress(f'simulating {scenario.name}') as progress:
        reported = role_of(scenario.system.name, 'report') is not None
        trajectory = simulate_scenario(scenario, progress, dense=reported)
        progress.say('writing')
        result = simulation_result(scenario, trajectory)
        write_json(out, result)
    say_written(out, summary(result))
    broken = violations(result)
    if broken:
        say('\n'.join(broken))
    return 1 if broken else 0
