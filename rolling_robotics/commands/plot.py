"""`rolling plot`: figures of a result."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = 'draw figures of a simulation or a plan'
DESCRIPTION = """\
Draw figures of a result file: states, contact paths on both surfaces, contact wrench with its
margins, and energy. They are written beside the file unless --out names a folder."""
EXAMPLE = """\
  rolling simulate config/scenarios/ellipsoid_in_dish.yaml --out dish.json
  rolling plot dish.json
  rolling plot dish.json --only paths --format pdf --out figures"""
FORMATS = ('png', 'pdf', 'svg')


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('file', metavar='FILE.json', type=Path, help='result file')
    parser.add_argument('--out', metavar='FOLDER', type=Path, help='folder of the figures')
    parser.add_argument('--only', metavar='FIGURE', action='append', help='only this figure')
    parser.add_argument('--format', choices=FORMATS, default='png', help='png by default')


def run(args: Namespace) -> int:
    """Draw."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_robotics.files import read_result  # noqa: PLC0415
    from rolling_robotics.plot import draw, FIGURES  # noqa: PLC0415
    from rolling_robotics.progress import Progress  # noqa: PLC0415

    result = read_result(args.file)
    wanted = args.only or list(FIGURES)
    for name in wanted:
        if name not in FIGURES:
            raise ParameterError(f'--only: no figure {name!r}; there are: {", ".join(FIGURES)}')
    folder = args.out or args.file.parent
    if not folder.is_dir():
        raise ParameterError(f'--out: there is no folder {str(folder)!r}; make it first')
    with Progress(f'drawing {args.file.name}') as progress:
        for k, name in enumerate(wanted):
            progress.say(name, k / len(wanted))
            path = folder / f'{args.file.stem}_{name}.{args.format}'
            if draw(name, result, path):
                print(path)
    return 0
