"""`rolling identify`: parameters of a system, or the numbers of a rig, from a log."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from rolling_dynamics.identification.identify import Found
    from rolling_dynamics.scenario import Scenario

HELP = 'identify parameters of a system from a log of its motion'
DESCRIPTION = """\
With --scenario and a CSV file: fit the parameters that the scenario marks by its entry
`uncertain`, or that --fit names, to a log of its motion. The columns are `time` [s], components
of the state, and those of the control (without these the scenario's control acts); --columns maps
other names. The log is cut into windows, each with a start of its own; the last ones are held out
and predicted. Printed are intervals of 95 %, parameters that cannot be distinguished, and errors
beside those of the last velocity held. The exit status is 1 if a parameter is not determined.

Without --scenario, find delay, servos, gain, offset, kinetic resistance and breakaway tilt of a
ball balancer from a CSV file with the columns time, ball_x, ball_y [m], tilt_x, tilt_y [counts]:
a row for each frame, with the command that was sent when it had come, and no ball while it is in
a hand. Each number is printed with the half width of its 95 % interval. For a number that the log
does not determine, it says what motion would; the exit status is then 1. A recording in MCAP of
vision/object_pose and servo_command will do too, with --scenario for the drive and count of its
servos.

--experiment writes a plan of two minutes whose log says these numbers, columns time [s], goal_x,
goal_y [m], tilt_x, tilt_y [counts]: jumps of the set point by 57 and 80 mm; then, where a tilt is
given, the plate is held at it for two seconds and the ball put down at the goal after one.
--emulate writes the log of this on the rig of a scenario, under a PID."""
EXAMPLE = """\
  rolling identify set_points.csv --experiment
  rolling identify log.csv --emulate ball_balancer
  rolling identify log.csv
  rolling identify motion.csv --scenario pendulum_start --fit rolling_damping=0:0.1
  rolling identify demo/recording --scenario ball_balancer"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('log', metavar='LOG', type=Path, help='CSV file, or recording in MCAP')
    parser.add_argument(
        '--scenario', metavar='FILE', help='system of a log, or rig of a recording'
    )
    parser.add_argument(
        '--columns', metavar='FILE.yaml', type=Path, help='names of the columns of a log'
    )
    parser.add_argument(
        '--fit',
        metavar='NAME=LOW:HIGH',
        action='append',
        default=[],
        help='parameter that is fitted, and its bounds',
    )
    parser.add_argument('--window', metavar='S', type=float, default=1.0, help='length of windows')
    parser.add_argument(
        '--hold-out', metavar='FRACTION', type=float, default=0.25, help='of the windows'
    )
    parser.add_argument(
        '--system', metavar='NAME', default='', help='system (default: the one that has it)'
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        '--experiment', action='store_true', help='write the set points of an experiment instead'
    )
    instead.add_argument('--emulate', metavar='FILE', help='write a log of this scenario instead')
    parser.add_argument('--force', action='store_true', help='overwrite LOG with what is written')
    parser.add_argument('--seed', metavar='S', type=int, default=0, help='random seed of that')
    parser.add_argument('--json', metavar='FILE.json', type=Path, help='write numbers and maps')
    parser.add_argument('--figure', metavar='FILE.png', type=Path, help='draw fit and maps')


def _general(args: Namespace, scenario: Scenario) -> Found:
    """Return uncertain parameters from a log in CSV."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_dynamics.identification.identify import identify  # noqa: PLC0415
    from rolling_dynamics.identification.log import read_log, read_mapping  # noqa: PLC0415
    from rolling_dynamics.scenario.faults import check  # noqa: PLC0415
    from rolling_dynamics.scenario.scenario import model_of  # noqa: PLC0415

    if not (args.window > 0 and 0 <= args.hold_out < 1):
        raise ParameterError(
            '--window must be positive and --hold-out at least 0 and below 1, got '
            f'{args.window:g} and {args.hold_out:g}'
        )
    marked = check(model_of(scenario.raw), scenario.raw).uncertain
    bounds = {name: (low, high) for name, (low, high) in marked.items()}
    bounds |= dict(map(_bounds, args.fit))
    mapping = read_mapping(args.columns) if args.columns else None
    log = read_log(args.log, scenario.system, mapping)
    return identify(scenario, log, bounds, args.window, args.hold_out)


def _bounds(given: str) -> tuple[str, tuple[float, float]]:
    from rolling_dynamics.errors import ParameterError, quoted  # noqa: PLC0415

    name, _, values = given.partition('=')
    try:
        low, high = (float(value) for value in values.split(':'))
    except ValueError:
        raise ParameterError(
            f'--fit: NAME=LOW:HIGH with two numbers is needed, got {quoted(given)}'
        ) from None
    return name, (low, high)


def _write(args: Namespace, module: ModuleType, scenario: Scenario | None) -> int:
    """Write an experiment, or the emulated log of one."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_robotics.console import Progress  # noqa: PLC0415
    from rolling_robotics.files import checked_output  # noqa: PLC0415

    path = checked_output(args.log, '.csv', 'LOG.csv')
    if path.exists() and not args.force:
        raise ParameterError(f'{path}: exists, and may be a log; name another, or --force')
    if args.experiment:
        module.experiment(path)
    else:
        with Progress(f'emulating {path.name}'):
            module.emulate(scenario, path, args.seed)
    print(f'written to {path}')
    return 0


def run(args: Namespace) -> int:
    """Identify and print."""
    from rolling_dynamics.errors import ParameterError  # noqa: PLC0415  (--help stays fast)
    from rolling_dynamics.plugin import needed_role, roles  # noqa: PLC0415
    from rolling_dynamics.scenario import load_scenario  # noqa: PLC0415
    from rolling_robotics import identified  # noqa: PLC0415
    from rolling_robotics.commands.arguments import is_recording  # noqa: PLC0415
    from rolling_robotics.console import Progress  # noqa: PLC0415
    from rolling_robotics.files import checked_output, say_written, write_json  # noqa: PLC0415

    writes, named = args.experiment or bool(args.emulate), args.emulate or args.scenario
    recording = not writes and is_recording(args.log)
    if recording and not args.scenario:
        raise ParameterError(f'{args.log}: --scenario is needed: the rig that was recorded')
    if (args.fit or args.columns) and (recording or not args.scenario):
        raise ParameterError('--fit and --columns are of a log in CSV, with --scenario')
    scenario = load_scenario(named) if named else None
    general = scenario if not recording and not writes else None
    module: ModuleType = identified
    if general is None:
        having = [name for name, _ in roles('identification')]
        system = scenario.system.name if scenario else args.system
        if not system and len(having) != 1:
            raise ParameterError(f'--system: one of {", ".join(having)} is needed')
        module = needed_role(system or having[0], 'identification', 'identification')
    if writes:
        return _write(args, module, scenario)
    out = checked_output(args.json, '.json', '--json') if args.json else None
    figure = checked_output(args.figure, '.png', '--figure') if args.figure else None
    with Progress(f'identifying {args.log.name}'):
        found = _general(args, general) if general else module.identify(args.log, scenario)
    if out is not None:
        write_json(out, module.to_dict(found))
    say_written(out, *module.lines(found))
    if figure is not None:
        module.draw(found, figure)
        print(f'written to {figure}')
    return 0 if module.complete(found) else 1
