"""
Draw figures of a simulation, a plan or a recording.

Draw figures of a result file: states, contact paths on both surfaces, contact wrench with its
margins, energy, phase portraits, and a plan beside its execution. A recording gives the last of
these for everything that was executed in it. They are written beside the file unless --out names
a folder.

example:
  rolling simulate ellipsoid_in_dish --out dish.json
  rolling plot dish.json
  rolling plot dish.json --only paths --format pdf --out figures
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import is_recording, opened, option, SCENARIO_HELP
from rolling_robotics.console import Progress

FORMATS = ('png', 'pdf', 'svg')
BESIDE = 'plan'


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'file', 'FILE', Path, 'result file, or a recording')
    option(parser, '--out', 'FOLDER', Path, 'folder of the figures')
    parser.add_argument('--only', metavar='FIGURE', action='append', help='only this figure')
    option(parser, '--plan', 'PLAN.json', Path, 'plan to draw beside it')
    option(parser, '--scenario', 'SCENARIO', Path, SCENARIO_HELP)
    parser.add_argument('--format', choices=FORMATS, default='png', help='file format')


def run(args: Namespace) -> int:
    """Draw."""
    from rolling_robotics.files import checked_folder
    from rolling_robotics.plot import FIGURES

    for name in args.only or []:
        if name not in FIGURES:
            raise ParameterError(f'--only: no figure {name!r}; there are: {", ".join(FIGURES)}')
    folder = checked_folder(args.out or args.file.parent)
    recording = is_recording(args.file)
    with Progress(f'drawing {args.file.name}') as progress:
        for path in (_of_recording if recording else _of_result)(args, folder, progress):
            print(path)
    return 0


def _of_result(args: Namespace, folder: Path, progress: Progress) -> Iterator[Path]:
    """Draw the figures of a result and yield their files."""
    from rolling_robotics.files import read_result
    from rolling_robotics.plot import draw, FIGURES

    result = read_result(args.file)
    plan = _read_plan(args.plan, result['system']) if args.plan else None
    wanted = args.only or list(FIGURES)
    for k, name in enumerate(wanted):
        progress.say(name, k / len(wanted))
        path = folder / f'{args.file.stem}_{name}.{args.format}'
        if draw(name, result, path, plan):
            yield path
        elif args.only:
            remedy = '; give --plan PLAN.json' if name == BESIDE else ''
            raise ParameterError(f'--only: {args.file} has nothing for {name!r}{remedy}')


def _read_plan(path: Path, system: str) -> dict[str, object]:
    from rolling_robotics.files import read_result

    plan = read_result(path)
    if 'plan' not in plan or plan['system'] != system:
        raise ParameterError(f'--plan: {path} is not a plan of the system {system!r}')
    return plan


def _of_recording(args: Namespace, folder: Path, progress: Progress) -> Iterator[Path]:
    """Draw each execution of a recording beside its plan and yield the files."""
    from rolling_robotics.figures.beside import records_figure
    from rolling_robotics.plot import write_figure

    if args.plan or set(args.only or []) - {BESIDE}:
        raise ParameterError(f'{args.file}: of a recording the figure {BESIDE!r} is drawn alone')
    progress.say('reading')
    with opened('plot', args.file, args.scenario) as recorded:
        from rolling_robotics.nodes.replay.executions import recorded_executions

        executions = recorded_executions(recorded)
        stem = recorded.path.name
    for k, one in enumerate(executions, 1):
        progress.say(f'execution {k} of {len(executions)}', (k - 1) / len(executions))
        path = folder / f'{stem}_{BESIDE}_{k}.{args.format}'
        make = partial(records_figure, [one])
        if write_figure(BESIDE, make, path):
            yield path
