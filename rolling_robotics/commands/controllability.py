"""
Rank of the Lie algebra of a kinematic system, and where it is lost.

Compute the Lie brackets of a kinematic system, given as a scenario, until the rank stops growing:
the rank up to each depth at a general state and at the start, the drift and its divergence, what
is lost without each input, and the sets of angles on which the rank breaks down.

Exit status 1 means that the rank at the start is less than the dimension of the state.

example:
  rolling controllability spin_rolling_straight
  rolling controllability spin_rolling_published --json brackets.json
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.commands.arguments import add_scenario, number, option
from rolling_robotics.console import Progress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    add_scenario(parser)
    parser.add_argument(
        '--depth', type=number(1, 8, int), default=5, help='maximum depth of the brackets'
    )
    option(parser, '--json', 'FILE.json', Path, 'write the report')


def run(args: Namespace) -> int:
    """Compute and print."""
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.controllability_report import (
        controllability_report,
        report_text,
    )
    from rolling_robotics.files import checked_output, say_written, write_json

    out = checked_output(args.json, '.json', '--json') if args.json else None
    scenario = load_scenario(args.scenario)
    with Progress(f'deriving brackets of {scenario.name}'):
        report = controllability_report(scenario, args.depth)
    if out is not None:
        write_json(out, report)
    say_written(out, report_text(report))
    return 0 if report['rank_at_start'] == report['dimension'] else 1
