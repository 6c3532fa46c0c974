"""Words to the user of the command line."""

from __future__ import annotations

import sys

from rolling_dynamics.text import printable

LONGEST_LINE = 2000  # characters


def say(text: str) -> None:
    """Write a text to stderr, each line printable, cut, and behind the name of the program."""
    for line in text.splitlines() or ['']:
        print(f'rolling: {printable(line, LONGEST_LINE)}', file=sys.stderr)
