"""
Measure, print a table, and write build/bench.json: ``python -m evidence.benchmarks``.

Exit status: 0 every goal met, 1 a goal was missed, 4 no goal was missed but a figure could not be
measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module
import json
import os
from pathlib import Path
import sys

from evidence.benchmarks.row import GROUPS, Row

MARKS = {True: 'yes', False: 'NO', None: ''}
MET, MISSED, NOT_MEASURED = 0, 1, 4


def main(arguments: list[str] | None = None) -> int:
    """Run the groups that were asked for and return the exit status."""
    parser = argparse.ArgumentParser(
        prog='python -m evidence.benchmarks',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('groups', nargs='*', metavar='GROUP', help=', '.join(GROUPS))
    parser.add_argument('--out', type=Path, default=Path('build/bench.json'), help='JSON file')
    args = parser.parse_args(arguments)
    os.environ.setdefault('ROLLING_COMPILE', 'now')  # figures are of machine code
    unknown = [g for g in args.groups if g not in GROUPS]
    if unknown:
        parser.error(f'no group {unknown[0]!r}; there are: {", ".join(GROUPS)}')
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for name in args.groups or GROUPS:
        print(f'\n{name}', flush=True)
        for row in _measured(name):
            rows.append(row)
            print(_line(row), flush=True)
    args.out.write_text(json.dumps([row.to_dict() for row in rows], indent=1) + '\n')
    return _judged(rows, args.out)


def _measured(group: str) -> Iterator[Row]:
    """Yield the rows of a group; where it fails, one that was not measured and says why."""
    module, _, function = GROUPS[group].partition(':')
    try:
        yield from getattr(import_module(module), function)()
    except Exception as e:  # noqa: BLE001  the figures of the other groups are still wanted
        why = f'{type(e).__name__}: {e}'
        yield Row(f'{group}, the rest of it', None, reference=why)


def _judged(rows: list[Row], out: Path) -> int:
    """Print what was missed and what was not measured; return the exit status."""
    lists = {
        'goals missed': [row.name for row in rows if row.met is False],
        'not measured': [row.name for row in rows if not row.measured],
    }
    print(f'\n{len(rows)} figures written to {out}')
    for title, names in lists.items():
        print('\n  '.join([f'{title}: {len(names)}', *names]))
    missed, unknown = lists.values()
    return MISSED if missed else NOT_MEASURED if unknown else MET


def _line(row: Row) -> str:
    value = f'{row.value:.4g} {row.unit}'.strip() if row.measured else 'not measured'
    goal = f'goal {row.goal} {row.unit}'.strip() if row.goal else ''
    return f'  {row.name:<54} {value:>20}  {MARKS[row.met]:<4}{goal:<26} {row.reference}'.rstrip()


if __name__ == '__main__':
    sys.exit(main())
