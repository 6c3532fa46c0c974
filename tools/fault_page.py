"""
Write the tables of docs/faults.md from what the tests of faults noted, as `make faults` does.

    ROLLING_FAULTS=build/faults.jsonl .venv/bin/python -m pytest -m fault test
    .venv/bin/python tools/fault_page.py build/faults.jsonl

Each test that has the fixture ``fault_row`` notes what was done, what the system did, and in what
time. The page up to the comment is written by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import json
import math
from pathlib import Path
import sys
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / 'docs' / 'faults.md'
BEGIN = '<!-- rows, written by tools/fault_page.py -->'
HEAD = '| what was done | what the system did | in |\n|---|---|---:|'
LONGEST = 160  # characters of a cell


def fault_tests() -> dict[str, list[str]]:
    """Return the tests that have the fixture, by the path of their module from the root."""
    found = {}
    for path in sorted((ROOT / 'test').rglob('test_*.py')):
        text = path.read_text(encoding='utf-8')
        tree = ast.parse(text if 'fault_row' in text else '')
        names = [
            node.name
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and node.name.startswith('test_')
            and any(argument.arg == 'fault_row' for argument in node.args.args)
        ]
        if names:
            found[path.relative_to(ROOT).as_posix()] = names
    return found


def title_of(module: str) -> str:
    """Return the first line of what a module of tests says of itself."""
    text = ast.get_docstring(ast.parse((ROOT / module).read_text(encoding='utf-8'))) or module
    return text.splitlines()[0].rstrip('.')


def tables(rows: list[dict[str, Any]]) -> Iterator[str]:
    """
    Yield the lines of the page: a heading for each module, a table, and its tests.

    Raises
    ------
    ValueError
        A test has the fixture and noted nothing.

    """
    for module, names in fault_tests().items():
        yield f'\n## {title_of(module)}\n'
        yield HEAD
        for name in names:
            mine = [row for row in rows if row['test'].partition('[')[0] == f'{module}::{name}']
            if not mine:
                raise ValueError(f'{module}::{name} noted nothing: run all tests marked fault')
            yield from map(_row, mine)
        yield f'\n`{module}`: {", ".join(f"`{name}`" for name in names)}'


def _row(row: dict[str, Any]) -> str:
    seconds = row['seconds']
    took = '' if math.isnan(seconds) else f'{max(round(seconds, 2), 0.01):g} s'
    cells = [_cell(row['done']), _cell(row['did']), took]
    return '| ' + ' | '.join(cells) + ' |'


def _cell(text: str) -> str:
    """Return a text that breaks no table, cut where it is long."""
    plain = ' '.join(text.split())
    cut = plain if len(plain) <= LONGEST else plain[: LONGEST - 3] + '...'
    marks = '\\|*_<>[]$' + '`' * (cut.count('`') % 2)  # pairs set a command off
    for mark in marks:
        cut = cut.replace(mark, '\\' + mark)
    return cut


def with_rows(page: str, rows: list[dict[str, Any]]) -> str:
    """Return a page with its tables in place of those that it has."""
    return '\n'.join([page.partition(BEGIN)[0] + BEGIN, *tables(rows)]) + '\n'


def main(arguments: list[str]) -> None:
    """Write the page from the files that are named."""
    lines = [line for name in arguments for line in Path(name).read_text('utf-8').splitlines()]
    rows = [json.loads(line) for line in lines]
    PAGE.write_text(with_rows(PAGE.read_text(encoding='utf-8'), rows), encoding='utf-8')
    print(f'{len(rows)} rows in {PAGE.relative_to(ROOT)}')


if __name__ == '__main__':
    main(sys.argv[1:])
