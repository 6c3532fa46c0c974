"""Arguments that several commands take."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path


def add_scenario(parser: ArgumentParser) -> None:
    """Declare the scenario."""
    parser.add_argument(
        'scenario', metavar='SCENARIO', help='scenario file, or an example by name'
    )


def add_scenario_and_result(parser: ArgumentParser) -> None:
    """Declare the scenario, and the file of its result."""
    add_scenario(parser)
    parser.add_argument(
        '--out',
        metavar='FILE.json',
        type=Path,
        required=True,
        help='result; - writes it to stdout',
    )
