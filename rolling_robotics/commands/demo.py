"""`rolling demo`: a demonstration on real nodes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.experiments import EXPERIMENTS

HELP = 'run a demonstration with the ROS 2 nodes as processes'
DESCRIPTION = """\
Start the nodes of an experiment as separate processes on ROS 2, run it, print the result and leave
a figure and a recording. The exit status says whether the goal was reached."""
EXAMPLE = '  rolling demo ball_on_plate --simulated-time --out build/demo'


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('name', metavar='NAME', help=f'demonstration: {", ".join(EXPERIMENTS)}')
    parser.add_argument(
        '--out',
        metavar='FOLDER',
        type=Path,
        default=Path('build', 'demo'),
        help='folder for figure and recording, build/demo by default',
    )
    parser.add_argument(
        '--simulated-time',
        action='store_true',
        help='plant and controller take turns, whatever else the machine does; by default only '
        'where no real-time priority is allowed',
    )


def run(args: Namespace) -> int:
    """Run it where ROS is there."""
    from rolling_robotics.commands.record import need_ros  # noqa: PLC0415  (--help stays fast)

    need_ros('demo')
    from rolling_robotics.demo import run_demo  # noqa: PLC0415

    return int(run_demo(args.name, args.out, use_sim_time=args.simulated_time or None))
