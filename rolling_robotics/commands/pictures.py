"""Figures, animations and views of results and recordings."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need
from rolling_robotics.commands import Add
from rolling_robotics.commands.arguments import (
    is_recording,
    need_ros,
    number,
    opened,
    SCENARIO_HELP,
    shown_scene,
)
from rolling_robotics.console import Progress

FORMATS = ('png', 'pdf', 'svg')
BESIDE = 'plan'


def declare_plot(add: Add) -> None:
    """Declare the options."""
    add('file', 'FILE', 'result file, or a recording', Path)
    add('--out', 'FOLDER', 'folder of the figures', Path)
    add('--only', 'FIGURE', 'only this figure', action='append')
    add('--plan', 'PLAN.json', 'plan to draw with it', Path)
    add('--scenario', 'SCENARIO', SCENARIO_HELP, Path)
    add('--format', None, 'file format', choices=FORMATS, default='png')


def run_plot(args: Namespace) -> int:
    """
    Draw figures of a simulation, a plan or a recording.

    Draw figures of a result file: states, contact paths on both surfaces, contact wrench with its
    margins, energy, phase portraits, and a plan with its execution. A recording gives the last of
    these for each of its executions. They are written next to the file unless --out names a
    folder.

    example:
      rolling simulate ellipsoid_in_dish --out dish.json
      rolling plot dish.json
      rolling plot dish.json --only paths --format pdf --out figures
    """
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
    """Draw each execution of a recording with its plan and yield the files."""
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


def declare_animate(add: Add) -> None:
    """Declare the options."""
    add('file', 'FILE', 'result or recording', Path)
    add('--out', 'FILE', '*.gif, *.mp4 or *.png', Path, required=True)
    add('--plan', 'PLAN.json', 'plan shown as a ghost', Path)
    add('--rate', 'HZ', 'frame rate', number(1, 100), default=20)
    add('--speed', 'SPEED', 'playback speed', number(1e-3, 1e3), default=1)
    add('--width', 'WIDTH', 'width in pixels', number(100, 4000, int), default=640)
    add('--at', 'TIME', 'time of a *.png (default: the middle)', float)
    add('--strip', 'TIME', 'time between the snapshots of a *.png', number(1e-3, 1e3))
    add('--azimuth', 'AZIMUTH', 'azimuth of the view in degrees', float, default=-60)
    add(
        '--elevation', 'ELEVATION', 'elevation of the view in degrees', number(-90, 90), default=28
    )
    add('--no-strips', None, 'leave out the curves below the picture', action='store_true')
    add('--no-legend', None, 'draw no legend', action='store_true')


def run_animate(args: Namespace) -> int:
    """
    Animate a simulation, a plan or a recording.

    Draw a result or a recording as a GIF, as an MP4 where ffmpeg is installed, or as one PNG (of
    one time, or a strip of snapshots): the bodies with their surfaces, contact frames, the
    contact's path on both surfaces, the contact force inside its friction cone, and margins below.
    A plan's end, or another plan's motion, is shown as a ghost.

    example:
      rolling simulate spinning_plate --out plate.json
      rolling animate plate.json --out plate.gif --speed 2
      rolling animate plate.json --out plate.png --at 1.5
      rolling animate plate.json --out strip.png --strip 0.5 --width 320
    """
    import math

    from rolling_robotics.animation.movie import Shot, write_movie, WRITERS
    from rolling_robotics.animation.painter import Camera
    from rolling_robotics.files import checked_output

    if args.strip is not None and (args.out.suffix != '.png' or args.at is not None):
        raise ParameterError('--strip: draws snapshots into one *.png, and goes without --at')
    out = checked_output(args.out, WRITERS)
    scene = shown_scene('animate', args.file, args.plan)
    shot = Shot(
        rate=args.rate,
        speed=args.speed,
        width=args.width,
        at=args.at,
        camera=Camera(math.radians(args.azimuth), math.radians(args.elevation)),
        strips=not args.no_strips and args.strip is None,
        legend=not args.no_legend,
        every=args.strip,
    )
    with Progress(f'drawing {args.file.name}') as progress:
        count = write_movie(
            scene, shot, out, lambda k, n: progress.say(f'picture {k} of {n}', k / n)
        )
    print(f'{count} picture{"s" * (count != 1)} written to {out}')
    return 0


LOOPBACK = ('127.0.0.1', 'localhost', '::1')  # who looks from elsewhere moves no robot


def declare_view(add: Add) -> None:
    """Declare the options."""
    host = 'address to listen on; 127.0.0.1 is this machine only'
    add('file', 'FILE', 'result or recording', Path, nargs='?')
    add('--plan', 'PLAN.json', 'plan shown as a ghost', Path)
    add('--export', 'PAGE.html', 'write one self-contained page instead', Path)
    add('--port', 'PORT', 'port; 0 for any free one', int, default=8080)
    add('--host', 'HOST', host, default='127.0.0.1')
    add('--speed', 'SPEED', 'playback speed', number(1e-3, 1e3), default=1)
    add('--namespace', 'NAMESPACE', 'live view only: namespace of the nodes', default='')
    prefix = 'prefix of the frames of the robot (default: NAMESPACE/ where one is given)'
    add('--frame-prefix', 'PREFIX', prefix, default=None)


def run_view(args: Namespace) -> int:
    """
    Show a result, a recording or running nodes in a browser.

    Serve a page that shows a scene in space: bodies with their surfaces, contact frames and point,
    traces on both surfaces, the contact force inside its friction cone, a plan as a ghost, a time
    slider, and curves of the margins. FILE is a result of `rolling simulate` or `rolling plan`, or
    the folder of a recording. Without one, the nodes of this ROS domain are shown live. With a
    planner and a controller running, a goal can be dragged, planned for and executed, unless
    --host admits other computers. `rolling record` records the topics for a later view.

    Open the printed address; Ctrl-C ends it. With --export the scene is written as one page that
    any browser plays without this suite. Needs viser: `pip install 'rolling_robotics[viewer]'`.

    example:
      rolling view plan.json
      rolling view plan.json --export plan.html
      rolling view build/demo/recording
      rolling view
      rolling view --namespace left
    """
    need('view', 'viser')
    if args.frame_prefix is None:
        args.frame_prefix = f'{args.namespace}/'.lstrip('/')
    if args.file is None:
        if args.export is not None:
            raise ParameterError('--export: takes a FILE; running nodes are shown live only')
        return _live(args)
    from rolling_robotics.viewer.panel import play

    scene = shown_scene('view', args.file, args.plan, args.frame_prefix)
    if args.export is not None:
        from rolling_robotics.files import checked_output, written_beside
        from rolling_robotics.viewer.panel import page_of

        with written_beside(checked_output(args.export, '.html', '--export')) as scratch:
            scratch.write_text(page_of(scene, args.speed), encoding='utf-8')
        print(f'written to {args.export}')
        return 0
    play(scene, args.host, args.port, args.speed, _ready)
    print('viewer closed')
    return 0


def _ready(address: str) -> None:
    print(f'open {address} in a browser; Ctrl-C ends it', flush=True)


def _live(args: Namespace) -> int:
    need_ros('view')
    from rolling_robotics.nodes.live_view import LiveOptions, view_live

    options = LiveOptions(
        namespace=args.namespace,
        frame_prefix=args.frame_prefix,
        commands=args.host in LOOPBACK,
    )
    return view_live(args.host, args.port, options, _ready)
