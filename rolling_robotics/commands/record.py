"""
Record topics as MCAP until Ctrl-C.

Record topics as MCAP with their schemas, as `ros2 bag play` and Foxglove read it, until Ctrl-C.
All topics of the domain are recorded unless some are named; messages are kept as they came.

example:
  rolling record --out build/recording
  rolling record --out build/recording hand/odometry contact/wrench
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.commands.arguments import need_ros, option


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'topics', metavar='TOPIC', nargs='*', help='topics to record (default: all)'
    )
    option(
        parser,
        '--out',
        'FOLDER',
        Path,
        'folder of the recording; a number is appended if it exists',
        default=Path('build', 'recording'),
    )
    parser.add_argument('--namespace', default='', help='namespace of the topics')


def run(args: Namespace) -> int:
    """Record until a signal comes."""
    need_ros('record')
    from rolling_robotics.nodes.recorder_node import record

    return record(args.out, args.topics, args.namespace)
