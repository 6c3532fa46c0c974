"""`rolling animate`: a moving picture of a result."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

HELP = 'animate a simulation, a plan or a recording'
DESCRIPTION = """\
Draw a result or a recording as a GIF, as an MP4 where ffmpeg is installed, or as one PNG (of one
time, or a strip of snapshots): the
bodies with their surfaces, contact frames, the contact's path on both surfaces, the contact force
inside its friction cone, and margins below. A plan's end, or another plan's motion, is shown as a
ghost."""
EXAMPLE = """\
  rolling simulate spinning_plate --out plate.json
  rolling animate plate.json --out plate.gif --speed 2
  rolling animate plate.json --out plate.png --at 1.5
  rolling animate plate.json --out strip.png --strip 0.5 --width 320"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('file', metavar='FILE', type=Path, help='result or recording')
    parser.add_argument(
        '--out',
        metavar='FILE',
        type=Path,
        required=True,
        help='*.gif, *.mp4 or *.png',
    )
    parser.add_argument('--plan', metavar='PLAN.json', type=Path, help='plan shown as a ghost')
    parser.add_argument('--rate', type=float, default=20, metavar='HZ', help='frame rate')
    parser.add_argument('--speed', type=float, default=1, help='playback speed')
    parser.add_argument('--width', type=int, default=640, help='width in pixels')
    parser.add_argument(
        '--at', type=float, metavar='TIME', help='time of a *.png (default: the middle)'
    )
    parser.add_argument(
        '--strip', type=float, metavar='TIME', help='time between the snapshots of a *.png'
    )
    parser.add_argument(
        '--azimuth', type=float, default=-60, help='azimuth of the view in degrees'
    )
    parser.add_argument(
        '--elevation', type=float, default=28, help='elevation of the view in degrees'
    )
    parser.add_argument(
        '--no-strips', action='store_true', help='leave out the curves below the picture'
    )
    parser.add_argument(
        '--no-legend', action='store_true', help='leave out the names of what is drawn'
    )


def run(args: Namespace) -> int:
    """Draw."""
    import math  # noqa: PLC0415  (--help stays fast)

    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415
    from rolling_robotics.animation.movie import Shot, write_movie, WRITERS  # noqa: PLC0415
    from rolling_robotics.animation.painter import Camera  # noqa: PLC0415
    from rolling_robotics.commands.arguments import shown_scene  # noqa: PLC0415
    from rolling_robotics.console import Progress  # noqa: PLC0415
    from rolling_robotics.files import checked_output  # noqa: PLC0415

    for name, low, high in (
        ('rate', 1, 100),
        ('speed', 1e-3, 1e3),
        ('width', 100, 4000),
        ('elevation', -90, 90),
        ('strip', 1e-3, 1e3),
    ):
        value = getattr(args, name)
        if value is None:
            continue
        if not low <= value <= high:
            raise ParameterError(f'--{name}: must lie between {low:g} and {high:g}, got {value:g}')
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
