"""
Show a result, a recording or running nodes in a browser.

Serve a page that shows a scene in space: bodies with their surfaces, contact frames and point,
traces on both surfaces, the contact force inside its friction cone, a plan as a ghost, a time
slider, and curves of the margins. FILE is a result of `rolling simulate` or `rolling plan`, or the
folder of a recording; without one, what the nodes of this ROS domain publish is shown live. Where
a planner and a controller run, a goal can be dragged, planned for and gone to, unless --host lets
others look. `rolling record` keeps what was published, to be looked at again.

Open the address that is printed; Ctrl-C ends it. With --export the scene is written as one page
that any browser opens and plays without this suite. Needs viser:
`pip install 'rolling_robotics[viewer]'`.

example:
  rolling view plan.json
  rolling view plan.json --export plan.html
  rolling view build/demo/recording
  rolling view
  rolling view --namespace left --frame-prefix left/
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.extras import need
from rolling_robotics.commands.arguments import need_ros, number, option, shown_scene

LOOPBACK = ('127.0.0.1', 'localhost', '::1')  # who looks from elsewhere moves no robot


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'file', 'FILE', Path, 'result or recording', nargs='?')
    option(parser, '--plan', 'PLAN.json', Path, 'plan shown as a ghost')
    option(parser, '--export', 'PAGE.html', Path, 'write one self-contained page instead')
    parser.add_argument('--port', type=int, default=8080, help='port; 0 for any free one')
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to listen on; 127.0.0.1 is this machine only'
    )
    parser.add_argument('--speed', type=number(1e-3, 1e3), default=1, help='playback speed')
    parser.add_argument('--namespace', default='', help='live view only: namespace of the nodes')
    parser.add_argument(
        '--frame-prefix', metavar='PREFIX', default='', help='prefix of the frames of the robot'
    )


def run(args: Namespace) -> int:
    """Serve until Ctrl-C."""
    need('view', 'viser')
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
