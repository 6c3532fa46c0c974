"""Words to the user of the command line."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write a text to stderr, each line behind the name of the program."""
    for line in text.splitlines() or ['']:
        print(f'rolling: {line}', file=sys.stderr)
