"""Parameters from recorded motions."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from functools import partial
import math
from pathlib import Path
from typing import Any, TYPE_CHECKING

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands import Add
from rolling_robotics.commands.arguments import finite, is_recording, named, number
from rolling_robotics.console import Progress

if TYPE_CHECKING:
    from rolling_dynamics.identification.log import Log
    from rolling_dynamics.scenario import Scenario


def declare_identify(add: Add) -> None:
    """Declare the options."""
    positive = named('NAME=NUMBER with a positive number', partial(finite, above=0.0))
    bounds = named('NAME=LOW:HIGH with two numbers', _bounds)
    several: dict[str, Any] = {'action': 'append', 'default': []}
    still = 'leave out where an entry of the state changes slower than this [per second]'
    lacking = 'standard deviation of an unmodelled rate of an entry of the state in a window'
    add('log', 'LOG', 'CSV file, or recording in MCAP', Path)
    add('--scenario', 'FILE', 'system of the log', required=True)
    add('--columns', 'FILE.yaml', 'names of the columns of a log', Path)
    add('--fit', 'NAME=LOW:HIGH', 'parameter that is fitted, and its bounds', bounds, **several)
    add('--moving', 'NAME=SPEED', still, positive, **several)
    add('--lacking', 'NAME=SPREAD', lacking, positive, **several)
    add('--window', 'S', 'length of windows', number(1e-9, math.inf), default=1.0)
    add('--hold-out', 'FRACTION', 'of the windows', number(0, 0.999), default=0.25)
    add('--json', 'FILE.json', 'write numbers', Path)
    add('--figure', 'FILE.png', 'draw residuals', Path)


def _log(args: Namespace, scenario: Scenario) -> Log:
    from rolling_dynamics.identification.log import moving, read_log, read_mapping
    from rolling_robotics.recordings.recorded_topics import recorded_log

    system, mapping = scenario.system, read_mapping(args.columns) if args.columns else None
    if not is_recording(args.log):
        log = read_log(args.log, system, mapping)
    elif mapping is None:
        raise ParameterError(f'{args.log}: --columns is needed: topics and fields of a recording')
    else:
        log = recorded_log(args.log, system, mapping)
    for names, speed in _of_state(scenario, '--moving', args.moving):
        log = moving(log, names, speed)
    return log


def _of_state(
    scenario: Scenario, option: str, given: Sequence[tuple[str, float]]
) -> Iterator[tuple[list[str], float]]:
    """Yield components and number of each NAME=NUMBER, an entry or component of the state."""
    state = scenario.system.state
    for name, value in given:
        yield [state.names[k] for k in state.index(name, f'{option}: no entry')], value


def _bounds(text: str) -> tuple[float, float]:
    low, high = map(float, text.split(':'))
    return low, high


def run_identify(args: Namespace) -> int:
    """
    Identify parameters of a system from a log of its motion.

    Fit the parameters that a scenario marks by its entry `uncertain`, or that --fit names, to a
    log of its motion: a CSV file, or a recording in MCAP. The columns are `time` [s], components
    of the state, and the control's (without these the scenario's control acts); --columns maps
    other names, and in a recording topics and fields. In addition to parameters, `dead_time` fits
    the delay of the control, and a component of the control fits its offset. The log is cut into
    windows, each with its own start; the last ones are held out and predicted. --moving leaves out
    times at which a body rests; --lacking lets each window have a constant unmodelled rate.
    Printed are intervals of 95 %, parameters that cannot be distinguished, and errors next to
    those of a prediction with constant velocity. The exit status is 1 if a parameter is not
    determined.

    example:
      rolling identify motion.csv --scenario pendulum_start --fit rolling_damping=0:0.1
      rolling identify recording --scenario my_rig.yaml --columns topics.yaml --moving ball=0.015
    """
    from rolling_dynamics.identification.identify import identify
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics import identified
    from rolling_robotics.files import checked_output, say_written, write_json

    scenario = load_scenario(args.scenario)
    bounds = {name: (low, high) for name, (low, high) in scenario.uncertain.items()}
    bounds |= dict(args.fit)
    out = checked_output(args.json, '.json', '--json') if args.json else None
    figure = checked_output(args.figure, '.png', '--figure') if args.figure else None
    given = _of_state(scenario, '--lacking', args.lacking)
    lacking = {name: spread for names, spread in given for name in names}
    with Progress(f'identifying {args.log.name}'):
        log = _log(args, scenario)
        found = identify(scenario, log, bounds, args.window, args.hold_out, lacking)
    if out is not None:
        write_json(out, identified.to_dict(found))
    say_written(out, *identified.lines(found))
    if figure is not None:
        identified.draw(found, scenario.system.state, figure)
        print(f'written to {figure}')
    return 0 if found.complete else 1


KINDS = ('camera', 'joints', 'object', 'sliding')


def declare_calibrate(add: Add) -> None:
    """Declare the options."""
    pose, identity = ('X', 'Y', 'Z', 'QX', 'QY', 'QZ', 'QW'), [0, 0, 0, 0, 0, 0, 1]
    mount = 'pose of the marker body in the hand (default: identity)'
    add('recording', 'RECORDING', 'folder or MCAP file', Path)
    add('kind', 'KIND', ', '.join(KINDS), choices=KINDS)
    add('--params', 'FILE.yaml', 'node parameters that were in use', Path)
    add('--mount', pose, mount, float, nargs=7, default=identity)
    add('--scenario', 'SCENARIO', 'scenario with the object')
    add('--out', 'FILE.yaml', 'write the parameters', Path)


def run_calibrate(args: Namespace) -> int:
    """
    Identify camera pose, latency, friction and inertia from a recording.

    Identify model parameters from recorded topics, and write them as parameters of the nodes.

    camera: pose of the camera, offset of its clock and latency of its images. Fix the markers'
    body to the hand, at the position given by --mount, move the arm, and record robot_joint_states
    and vision/object_pose. joints: inertia and friction of the drives. Move the joints to and fro
    at several speeds without an object, and record robot_joint_states with efforts. object:
    inertia and damping. Let the object rock by less than 0.3 rad about y on the hand at rest, and
    record vision/object_pose; --scenario names the object, at rest where it rocks. sliding:
    kinetic friction of object and plate. Shake or tilt the plate until the object slides on it,
    and record robot_joint_states and vision/object_pose; --scenario names the object.

    example:
      rolling calibrate recordings/arm camera --mount 0.02 0 0.03 0 0 0 1 --out camera.yaml
      rolling calibrate recordings/arm joints --params laboratory.yaml
      rolling calibrate recordings/rocking object --scenario laboratory_flat
      rolling calibrate recordings/shaken sliding --scenario laboratory_flat
    """
    from rolling_robotics import calibration_report as report
    from rolling_robotics.files import checked_output

    if args.out and args.kind in {'object', 'sliding'}:
        raise ParameterError(
            '--out: parameters of an object belong in its scenario; they are only printed'
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
