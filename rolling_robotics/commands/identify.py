"""
Identify parameters of a system from a log of its motion.

Fit the parameters that a scenario marks by its entry `uncertain`, or that --fit names, to a log of
its motion: a CSV file, or a recording in MCAP. The columns are `time` [s], components of the
state, and the control's (without these the scenario's control acts); --columns maps other
names, and in a recording topics and fields. Beside parameters, `dead_time` fits the delay of the
control, and a component of the control what is to be added to it. The log is cut into windows,
each with a start of its own; the last ones are held out and predicted. --moving leaves out where a
body rests; --lacking lets each window have a constant rate of its own that the equations lack.
Printed are intervals of 95 %, parameters that cannot be distinguished, and errors
next to the error of the last velocity held. The exit status is 1 if a parameter is not determined.

example:
  rolling identify motion.csv --scenario pendulum_start --fit rolling_damping=0:0.1
  rolling identify recording --scenario my_rig.yaml --columns topics.yaml --moving ball=0.015
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial
import math
from pathlib import Path
from typing import TYPE_CHECKING

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import finite, is_recording, named, number
from rolling_robotics.console import Progress

if TYPE_CHECKING:
    from rolling_dynamics.identification.log import Log
    from rolling_dynamics.scenario import Scenario


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    positive = named('NAME=NUMBER with a positive number', partial(finite, above=0.0))
    parser.add_argument('log', metavar='LOG', type=Path, help='CSV file, or recording in MCAP')
    parser.add_argument('--scenario', metavar='FILE', required=True, help='system of the log')
    parser.add_argument(
        '--columns', metavar='FILE.yaml', type=Path, help='names of the columns of a log'
    )
    parser.add_argument(
        '--fit',
        metavar='NAME=LOW:HIGH',
        type=named('NAME=LOW:HIGH with two numbers', _bounds),
        action='append',
        default=[],
        help='parameter that is fitted, and its bounds',
    )
    parser.add_argument(
        '--moving',
        metavar='NAME=SPEED',
        type=positive,
        action='append',
        default=[],
        help='leave out where an entry of the state changes slower than this [per second]',
    )
    parser.add_argument(
        '--lacking',
        metavar='NAME=SPREAD',
        type=positive,
        action='append',
        default=[],
        help='standard deviation of what the rate of an entry of the state lacks in a window',
    )
    parser.add_argument(
        '--window', metavar='S', type=number(1e-9, math.inf), default=1.0, help='length of windows'
    )
    parser.add_argument(
        '--hold-out',
        metavar='FRACTION',
        type=number(0, 0.999),
        default=0.25,
        help='of the windows',
    )
    parser.add_argument('--json', metavar='FILE.json', type=Path, help='write numbers')
    parser.add_argument('--figure', metavar='FILE.png', type=Path, help='draw residuals')


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


def run(args: Namespace) -> int:
    """Identify and print."""
    from rolling_dynamics.identification.identify import identify
    from rolling_dynamics.scenario import load_scenario
    from rolling_dynamics.scenario.faults import check
    from rolling_dynamics.scenario.scenario import model_of
    from rolling_robotics import identified
    from rolling_robotics.files import checked_output, say_written, write_json

    scenario = load_scenario(args.scenario)
    marked = check(model_of(scenario.raw), scenario.raw).uncertain
    bounds = {name: (low, high) for name, (low, high) in marked.items()}
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
        identified.draw(found, figure)
        print(f'written to {figure}')
    return 0 if found.complete else 1
