"""Measure, print a table, and write build/bench.json: ``python -m rolling_robotics.bench``."""

from __future__ import annotations

import argparse
from importlib import import_module
import json
from pathlib import Path
import sys

from rolling_dynamics.one_thread import one_thread
from rolling_robotics.bench.registry import GROUPS
from rolling_robotics.bench.row import Row

MARKS = {True: 'yes', False: 'NO', None: ''}


def main(arguments: list[str] | None = None) -> int:
    """Run the groups that were asked for; return 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog='python -m rolling_robotics.bench', description=__doc__)
    parser.add_argument('groups', nargs='*', metavar='GROUP', help=', '.join(GROUPS))
    parser.add_argument('--out', type=Path, default=Path('build/bench.json'), help='JSON file')
    args = parser.parse_args(arguments)
    unknown = [g for g in args.groups if g not in GROUPS]
    if unknown:
        parser.error(f'no group {unknown[0]!r}; there are: {", ".join(GROUPS)}')
    one_thread()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in args.groups or GROUPS:
        module, _, function = GROUPS[name].partition(':')
        print(f'\n{name}', flush=True)
        for row in getattr(import_module(module), function)():
            rows.append(row)
            print(_line(row), flush=True)
    args.out.write_text(json.dumps([row.to_dict() for row in rows], indent=1) + '\n')
    missed = [row.name for row in rows if row.met is False]
    print(f'\n{len(rows)} figures written to {args.out}; goals missed: {len(missed)}')
    for name in missed:
        print(f'  {name}')
    return 1 if missed else 0


def _line(row: Row) -> str:
    value = 'not measured' if row.value is None else f'{row.value:.4g} {row.unit}'.strip()
    goal = f'goal {row.goal} {row.unit}'.strip() if row.goal else ''
    return f'  {row.name:<54} {value:>20}  {MARKS[row.met]:<4}{goal:<26} {row.reference}'.rstrip()


if __name__ == '__main__':
    sys.exit(main())
