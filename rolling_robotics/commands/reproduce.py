"""Reproduction of papers, and models compared with logs of real machines."""

from __future__ import annotations

from argparse import Namespace
import importlib
import os
from pathlib import Path
from typing import Any

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands import Add
from rolling_robotics.console import Progress, say

# name -> module with rows(), stated(rows) and figures(folder); where it has LONG, rows
# and figures take `fast`; where it has DATA, the environment variable of a folder of logs, rows
# take `data`, it has a `table` of its own, and its figures take the rows; UNSEEN names figures
# that the text at hand does not show
REPRODUCTIONS = {
    'ivanova-pivovarova': 'evidence.papers.ivanova_pivovarova',
    'putkaradze-rogers': 'evidence.papers.putkaradze_rogers',
    'reality': 'evidence.reality',
    'tafrishi': 'evidence.papers.tafrishi',
    'woodruff-lynch': 'evidence.papers.woodruff_lynch',
}


def declare_reproduce(add: Add) -> None:
    """Declare the options."""
    add('name', 'NAME', f'one of: {", ".join(REPRODUCTIONS)}')
    add('--json', 'FILE.json', 'write the table', Path)
    unseen = 'list the figures that the text at hand names and does not show'
    add('--fast', None, 'shorten and name what takes over a minute', action='store_true')
    add('--unseen', None, unseen, action='store_true')
    add('--data', 'FOLDER', 'logs of `reality` (default: ROLLING_REALITY_DATA)', Path)
    add('--figures', 'FOLDER', 'draw the figures', Path)


def run_reproduce(args: Namespace) -> int:
    """
    Reproduce the numbers and figures of a paper.

    Compute the results of a paper: a table of the printed and the computed numbers, and the
    figures as PNG. Parameters that the paper omits are inferred and stated.

    The verdict of a number is `met` within its tolerance, else `not met`, which ends the command
    with exit status 1. A printed number that contradicts the paper's own equations (see
    docs/errata.md) is `refuted` where the computed one is right. A number that the paper does not
    print, and nothing else determines, is `computed`.

    `reality` compares models with logs of real machines, in the folder of --data; without them a
    row is `not fetched`, and the command prints how to fetch them. `reality:beam` is one set of
    them.

    example:
      rolling reproduce ivanova-pivovarova --json numbers.json --figures figures
    """
    from evidence.papers.row import NOT_MET, table
    from rolling_robotics.files import checked_folder, checked_output, say_written, write_json

    args.name, _, only = args.name.partition(':')
    if args.name not in REPRODUCTIONS:
        raise ParameterError(f'no paper {args.name!r}; there are: {", ".join(REPRODUCTIONS)}')
    out = checked_output(args.json, '.json', '--json') if args.json else None
    if args.figures is not None:
        checked_folder(args.figures, '--figures')
    module = importlib.import_module(REPRODUCTIONS[args.name])
    # a paper with a constant LONG can be shortened
    options: dict[str, Any] = {'fast': args.fast} if hasattr(module, 'LONG') else {}
    if hasattr(module, 'DATA'):
        given = args.data or os.environ.get(module.DATA)
        options = {'data': Path(given) if given else None, 'only': only}
    with Progress(f'reproducing {args.name}'):
        rows = module.rows(**options)
    if hasattr(module, 'DATA'):
        options = {'rows': rows}  # that its figures are of
    stated, unseen = module.stated(rows), list(getattr(module, 'UNSEEN', ()))
    if out is not None:
        found = {'stated': stated, 'rows': [r.to_dict() for r in rows], 'unseen': unseen}
        write_json(out, {'name': args.name, **found})
    say_written(out, getattr(module, 'table', table)(rows), *(f'  {line}' for line in stated))
    if args.unseen:
        say('\n'.join(f'not shown in the text at hand: {name}' for name in unseen or ['none']))
    if options.get('fast'):
        say(f'shortened, as it takes over a minute: {module.LONG}')
    if args.figures is not None and hasattr(module, 'figures'):
        with Progress(f'drawing {args.name}'):
            drawn = list(module.figures(args.figures, **options))
        print(*drawn, sep='\n')
    missed = [f'not met: {row.name}' for row in rows if row.verdict == NOT_MET]
    if missed:
        say('\n'.join(missed))
    return 1 if missed else 0
