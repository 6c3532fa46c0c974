"""`rolling demo`: a demonstration on real nodes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = 'run a demonstration with the ROS 2 nodes as processes'
DESCRIPTION = """\
Start the nodes of an experiment as separate processes on ROS 2, run it, print the result and leave
a figure and a recording. The exit status says whether the goal was reached."""
EXAMPLE = '  rolling demo ball_on_plate --out build/demo'


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('name', metavar='NAME', help='demonstration, such as ball_on_plate')
    parser.add_argument(
        '--out',
        metavar='FOLDER',
        type=Path,
        default=Path('build', 'demo'),
        help='folder for figure and recording, build/demo by default',
    )


def run(args: Namespace) -> int:
    """Run it where ROS is there."""
    from importlib.util import find_spec  # noqa: PLC0415

    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415

    missing = [name for name in ('rclpy', 'rolling_interfaces') if find_spec(name) is None]
    if missing:
        raise ParameterError(
            f'demo: needs ROS 2, but {" and ".join(missing)} cannot be imported; run `make demo` '
            'in the source tree, or source a ROS 2 workspace that holds rolling_interfaces. '
            '`rolling simulate`, `plan` and `plot` work without ROS'
        )
    from rolling_robotics.demo import run_demo  # noqa: PLC0415

    return int(run_demo(args.name, args.out))
