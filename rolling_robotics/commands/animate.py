"""
Animate a simulation, a plan or a recording.

Draw a result or a recording as a GIF, as an MP4 where ffmpeg is installed, or as one PNG (of one
time, or a strip of snapshots): the
bodies with their surfaces, contact frames, the contact's path on both surfaces, the contact force
inside its friction cone, and margins below. A plan's end, or another plan's motion, is shown as a
ghost.

example:
  rolling simulate spinning_plate --out plate.json
  rolling animate plate.json --out plate.gif --speed 2
  rolling animate plate.json --out plate.png --at 1.5
  rolling animate plate.json --out strip.png --strip 0.5 --width 320
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import number, option, shown_scene
from rolling_robotics.console import Progress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'file', 'FILE', Path, 'result or recording')
    option(parser, '--out', 'FILE', Path, '*.gif, *.mp4 or *.png', required=True)
    option(parser, '--plan', 'PLAN.json', Path, 'plan shown as a ghost')
    option(parser, '--rate', 'HZ', number(1, 100), 'frame rate', default=20)
    parser.add_argument('--speed', type=number(1e-3, 1e3), default=1, help='playback speed')
    parser.add_argument(
        '--width', type=number(100, 4000, int), default=640, help='width in pixels'
    )
    option(parser, '--at', 'TIME', float, 'time of a *.png (default: the middle)')
    option(parser, '--strip', 'TIME', number(1e-3, 1e3), 'time between the snapshots of a *.png')
    parser.add_argument(
        '--azimuth', type=float, default=-60, help='azimuth of the view in degrees'
    )
    parser.add_argument(
        '--elevation', type=number(-90, 90), default=28, help='elevation of the view in degrees'
    )
    parser.add_argument(
        '--no-strips', action='store_true', help='leave out the curves below the picture'
    )
    parser.add_argument(
        '--no-legend', action='store_true', help='leave out the names of what is drawn'
    )


def run(args: Namespace) -> int:
    """Draw."""
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
