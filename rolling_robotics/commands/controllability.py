"""`rolling controllability`: Lie brackets, rank and singular sets of a kinematic system."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.commands.arguments import add_scenario

HELP = 'rank of the Lie algebra of a kinematic system, and where it is lost'
DESCRIPTION = """\
Compute the Lie brackets of a kinematic system, given as a scenario, until the rank stops growing:
the rank up to each depth at a general state and at the start, the drift and its divergence, what
is lost without each input, and the sets of angles on which the rank breaks down.

Exit status 1 means that the rank at the start is less than the dimension of the state."""
EXAMPLE = """\
  rolling controllability spin_rolling_straight
  rolling controllability spin_rolling_published --json brackets.json"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    add_scenario(parser)
    parser.add_argument('--depth', type=int, default=5, help='maximum depth of the brackets')
    parser.add_argument('--json', metavar='FILE.json', type=Path, help='write the report')


def run(args: Namespace) -> int:
    """Compute and print."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_dynamics.scenario import load_scenario  # noqa: PLC0415
    from rolling_robotics.console import Progress  # noqa: PLC0415
    from rolling_robotics.controllability_report import (  # noqa: PLC0415
        controllability_report,
        report_text,
    )
    from rolling_robotics.files import checked_output, say_written, write_json  # noqa: PLC0415

    if not 1 <= args.depth <= 8:
        raise ParameterError(f'--depth: must lie between 1 and 8, got {args.depth}')
    out = checked_output(args.json, '.json', '--json') if args.json else None
    scenario = load_scenario(args.scenario)
    with Progress(f'deriving brackets of {scenario.name}'):
        report = controllability_report(scenario, args.depth)
    if out is not None:
        write_json(out, report)
    say_written(out, report_text(report))
    return 0 if report['rank_at_start'] == report['dimension'] else 1
