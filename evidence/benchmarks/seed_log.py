"""Trials seed by seed, for hours: each appends a line to a file, and one that is there is kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
import json
import os
from pathlib import Path
from typing import Any

Ended = dict[str, Any]


def seeds(text: str) -> range:
    """Return the seeds of ``A..B``, both included, or of one number."""
    first, _, last = text.partition('..')
    out = range(int(first), int(last or first) + 1)
    if not out or out[0] < 0:
        raise argparse.ArgumentTypeError(f'{text!r} has no seed; wanted A..B with 0 <= A <= B')
    return out


def seed_parser(module: str, text: str, out: str) -> argparse.ArgumentParser:
    """Return a parser for seeds and the file, and have what is evaluated compiled first."""
    os.environ.setdefault('ROLLING_COMPILE', 'now')
    parser = argparse.ArgumentParser(
        prog=f'python -m {module}',
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('seeds', type=seeds, metavar='A..B', help='first and last random seed')
    parser.add_argument('--out', type=Path, default=Path(out), help='JSON lines')
    return parser


def recorded(path: Path, law: str) -> dict[int, Ended]:
    """Return what a file has on a law, by seed; a last line that was cut off does not count."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith('\n'):
        path.write_text(''.join(lines[:-1]))
    ended = (json.loads(line) for line in lines if line.endswith('\n'))
    return {e['seed']: e for e in ended if e['law'] == law}


def run_missing(
    path: Path, law: str, wanted: Iterable[int], run: Callable[[int], Ended]
) -> list[Ended]:
    """
    Return how seeds end under a law, after running those that the file lacks.

    Parameters
    ----------
    path
        The file; its folder is made.
    law
        Name of the law in it.
    wanted
        The seeds.
    run
        Returns how a seed ends, as JSON can hold it.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    known, wanted = recorded(path, law), list(wanted)
    with path.open('a') as file:
        for seed in wanted:
            if seed not in known:
                known[seed] = {'seed': seed, 'law': law, **run(seed)}
                print(json.dumps(known[seed]), file=file, flush=True)
    return [known[seed] for seed in wanted]
