"""`rolling record`: keep topics as a recording."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = 'record topics as MCAP until Ctrl-C'
DESCRIPTION = """\
Record topics as MCAP with their schemas, as `ros2 bag play` and Foxglove read it, until Ctrl-C.
All topics of the domain are recorded unless some are named; messages are kept as they came."""
EXAMPLE = """\
  rolling record --out build/recording
  rolling record --out build/recording hand/odometry contact/wrench"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'topics', metavar='TOPIC', nargs='*', help='topics to record (default: all)'
    )
    parser.add_argument(
        '--out',
        metavar='FOLDER',
        type=Path,
        default=Path('build', 'recording'),
        help='folder of the recording; a number is appended if it exists',
    )
    parser.add_argument('--namespace', default='', help='namespace of the topics')


def need_ros(command: str) -> None:
    """Raise ParameterError where ROS is missing."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_node_kit.signals import without_ros  # noqa: PLC0415

    fault = without_ros(command, 'rosbags')
    if fault:
        raise ParameterError(fault)


def run(args: Namespace) -> int:
    """Record until a signal comes."""
    need_ros('record')
    from rolling_robotics.nodes.recorder_node import record  # noqa: PLC0415

    return record(args.out, args.topics, args.namespace)
