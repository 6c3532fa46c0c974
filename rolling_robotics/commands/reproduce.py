"""`rolling reproduce`: the printed numbers and figures of a paper beside the computed ones."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
import importlib
from pathlib import Path
from typing import Any

# name -> module with SUMMARY, STATED, rows() and figures(folder)
REPRODUCTIONS = {
    'ivanova-pivovarova': 'rolling_robotics.reproduce.ivanova_pivovarova',
    'putkaradze-rogers': 'rolling_robotics.reproduce.putkaradze_rogers',
    'tafrishi': 'rolling_robotics.reproduce.tafrishi',
}
HELP = 'reproduce the numbers and figures of a paper'
DESCRIPTION = """\
Compute what a paper prints: a table with the printed beside the computed numbers, and the figures
as PNG. Parameters that the paper leaves unsaid are inferred and stated."""
EXAMPLE = """\
  rolling reproduce ivanova-pivovarova --json numbers.json --figures figures"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('name', metavar='NAME', help=f'one of: {", ".join(REPRODUCTIONS)}')
    parser.add_argument(
        '--json', metavar='FILE.json', type=Path, help='write name, printed, computed, unit'
    )
    parser.add_argument('--figures', metavar='FOLDER', type=Path, help='draw the figures')


def run(args: Namespace) -> int:
    """Compute, print and write."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_robotics.files import checked_output, write_json  # noqa: PLC0415

    if args.name not in REPRODUCTIONS:
        raise ParameterError(f'no paper {args.name!r}; there are: {", ".join(REPRODUCTIONS)}')
    out = checked_output(args.json, '.json') if args.json else None
    module = importlib.import_module(REPRODUCTIONS[args.name])
    rows = module.rows()
    print(table(rows))
    for line in module.STATED:
        print(f'  {line}')
    if out is not None:
        write_json(out, {'name': args.name, 'stated': list(module.STATED), 'rows': rows})
        print(f'written to {out}')
    if args.figures is not None:
        for path in module.figures(args.figures):
            print(path)
    return 0


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows name, printed, computed, unit as text."""
    width = max(len(r['name']) for r in rows)
    lines = [f'{"":{width}}  {"printed":>10}  {"computed":>12}']
    lines += [
        f'{r["name"]:{width}}  {r["printed"]:>10g}  {r["computed"]:>12.6g}  {r["unit"]}'.rstrip()
        for r in rows
    ]
    return '\n'.join(lines)
