"""
Identify camera pose, latency, friction and inertia from a recording.

Identify model parameters from recorded topics, and write them as parameters of the nodes.

camera: pose of the camera, offset of its clock and latency of its images. Fix the markers' body to
the hand, at the place --mount says, move the arm, and record robot_joint_states and
vision/object_pose.
joints: inertia and friction of the drives. Let the joints turn to and fro at several speeds
without an object, and record robot_joint_states with efforts.
object: inertia and damping. Let the object rock by less than 0.3 rad about y on the hand at rest,
and record vision/object_pose; --scenario says which object, at rest where it rocks.
sliding: kinetic friction of object and plate. Shake or tilt the plate until the object slides on
it, and record robot_joint_states and vision/object_pose; --scenario says which object.

example:
  rolling calibrate recordings/arm camera --mount 0.02 0 0.03 0 0 0 1 --out camera.yaml
  rolling calibrate recordings/arm joints --params laboratory.yaml
  rolling calibrate recordings/rocking object --scenario laboratory_flat
  rolling calibrate recordings/shaken sliding --scenario laboratory_flat
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import option
from rolling_robotics.console import Progress

KINDS = ('camera', 'joints', 'object', 'sliding')


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'recording', 'RECORDING', Path, 'folder or MCAP file')
    parser.add_argument('kind', metavar='KIND', choices=KINDS, help=', '.join(KINDS))
    option(parser, '--params', 'FILE.yaml', Path, 'node parameters that were in use')
    option(
        parser,
        '--mount',
        ('X', 'Y', 'Z', 'QX', 'QY', 'QZ', 'QW'),
        float,
        'pose of the marker body in the hand (default: identity)',
        nargs=7,
        default=[0, 0, 0, 0, 0, 0, 1],
    )
    parser.add_argument('--scenario', metavar='SCENARIO', help='scenario with the object')
    option(parser, '--out', 'FILE.yaml', Path, 'write the parameters')


def run(args: Namespace) -> int:
    """Read, compute, print, write."""
    from rolling_robotics import calibration_report as report
    from rolling_robotics.files import checked_output

    if args.out and args.kind in {'object', 'sliding'}:
        raise ParameterError(
            '--out: what is found about an object belongs into its scenario; it is only printed'
        )
    out = checked_output(args.out, '.yaml') if args.out else None
    parameters: dict[str, dict[str, Any]] = {}
    with Progress(f'calibrating from {args.recording.name}'):
        if args.kind == 'camera':
            lines, parameters = report.camera(args.recording, args.params, args.mount)
        elif args.kind == 'joints':
            lines, parameters = report.joints(args.recording, args.params)
        elif args.kind == 'sliding':
            lines = report.sliding(args.recording, args.params, args.scenario)
        else:
            lines = report.rocking(args.recording, args.scenario)
    print('\n'.join(lines))
    if out is not None:
        report.write_parameters(out, parameters)
        print(f'written to {out}')
    return 0
