"""Checks of scenario files and of systems."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rolling_dynamics.errors import ParameterError, RollingError
from rolling_robotics.commands import Add
from rolling_robotics.commands.arguments import add_scenario, number
from rolling_robotics.console import Progress, say

if TYPE_CHECKING:
    from rolling_dynamics.scenario import Scenario
    from rolling_dynamics.testing import Subject


def declare_check(add: Add) -> None:
    """Declare the options."""
    add('scenarios', 'SCENARIO', 'files, or examples by name', nargs='+')
    add('--picture', 'FILE.png', 'draw the start of one scenario', Path)


def run_check(args: Namespace) -> int:
    """
    Check scenario files without running them.

    Validate scenario files, with their sections `plan` and `sweep` if present. Each error names
    the path of the entry, the given value and the allowed ones. Values that are allowed but
    unlikely, such as a ball of 100 m, give a warning and do not change the exit status. With
    `--picture` the start is drawn: bodies, axes and contact frame. For a machine from parts it
    reports the number of independent velocities at contacts, the twists that they leave free, and
    the forces that move nothing.

    example:
      rolling check spinning_plate my_scenario.yaml
    """
    from rolling_dynamics.scenario import load_scenario
    from rolling_planner.planners.planner import planner_of

    if args.picture and len(args.scenarios) > 1:
        raise ParameterError('--picture: draws one scenario; give one file')

    def fault(path: str) -> str:
        """Return the errors of a file, empty if there are none."""
        try:
            scenario = load_scenario(path)
            if 'plan' in scenario.raw:
                planner_of(scenario.system.name).problem(scenario)
            for line in _doubtful(scenario):
                say(f'{path}: {line}')
            if args.picture:
                _draw(scenario, args.picture)
        except RollingError as e:
            several = len(args.scenarios) > 1
            return '\n'.join(
                f'{path}: {line}' if several else line for line in str(e).splitlines()
            )
        for line in _structure(scenario):
            print(f'{path}: {line}')
        print(f'{path}: good; {scenario.system.name}, {scenario.duration:g} s')
        return ''

    faults = [text for text in map(fault, args.scenarios) if text]
    if faults:
        say('\n'.join(faults))
    return 2 if faults else 0


def _doubtful(scenario: Scenario) -> Iterator[str]:
    """Yield questionable values, and rejected points of a sweep."""
    from rolling_dynamics.scenario.scenario import doubts
    from rolling_robotics.sweep.points import probe, read_sweep

    yield from doubts(scenario.raw)
    if 'sweep' in scenario.raw:
        for line in probe(read_sweep(scenario.raw))[1]:
            yield f'sweep: {line}; the other points are swept'


def _structure(scenario: Scenario) -> Sequence[str]:
    """Return what contacts of a machine leave free, in sentences."""
    from rolling_dynamics.contract.capabilities import ContactReport, offers

    reporting = offers(scenario.system, ContactReport)
    return () if reporting is None else reporting.contact_report(scenario.p, scenario.x0)


def _draw(scenario: Scenario, path: Path) -> None:
    """Draw the start of a scenario."""
    from rolling_robotics.animation.movie import Shot, write_movie
    from rolling_robotics.files import checked_output
    from rolling_robotics.result import start_result
    from rolling_robotics.scene.general import scene_of

    out, scene = checked_output(path, ('.png',)), scene_of(start_result(scenario))
    write_movie(scene, Shot(at=0.0, strips=False), out, lambda *_: None)


def declare_check_system(add: Add) -> None:
    """Declare the options."""
    add('system', 'SYSTEM', 'scenario file, kind of system, or module:factory')
    add('--duration', 'T', 'simulated time in s', number(1e-9, 1e3), default=0.5)
    add('--seed', 'SEED', 'random seed', int, default=0)


def run_check_system(args: Namespace) -> int:
    """
    Check a system against the contract.

    Run the checks of the contract on a rolling system: shapes, units, derivatives against
    differences, invariants along a simulation, the contact wrench by Newton and Euler, guards,
    machine code, linearisation, sensors and actuators with their messages, and planning and
    regulation of a small problem. Each check is a line. The line of a failed check has the
    expected and the found value, and the exit status is 1.

    A system is a scenario file, the name of a scenario or of a type of system of the suite, or
    `module:factory`, a Python function that returns (system, parameters, state), (system,
    parameters, state, control) or (system, parameters, state, control, sensors, actuators), where
    the control may be None.

    example:
      rolling check-system spinning_plate
      rolling check-system pendulum_sphere
    """
    from rolling_controller.testing import ALL_CHECKS
    from rolling_dynamics.testing import inspect_system
    from rolling_robotics.named_system import named_system

    given = named_system(args.system)
    outcomes = inspect_system(
        *given[:4],
        duration=args.duration,
        seed=args.seed,
        checks={**ALL_CHECKS, 'messages': _messages},
        sensors=given.sensors,
        actuators=given.actuators,
    )
    for outcome in outcomes:
        text = f': {outcome.text}' if outcome.text else ''
        print(f'{outcome.verdict:8} {outcome.name}{text}')
    failed = sum(outcome.verdict == 'failed' for outcome in outcomes)
    print(f'{given.system.name}: {failed or "none"} of {len(outcomes)} checks failed')
    return 1 if failed else 0


def _messages(subject: Subject) -> None:
    """Check the values read from messages of sensors and actuators, where ROS is installed."""
    from rolling_dynamics.testing import NotApplicable

    try:
        from rolling_dynamics.nodes.message_check import messages
    except ImportError as error:
        raise NotApplicable(f'messages need ROS 2: {error}') from None
    messages(subject)


def declare_controllability(add: Add) -> None:
    """Declare the options."""
    add_scenario(add)
    add('--depth', 'DEPTH', 'maximum depth of the brackets', number(1, 8, int), default=5)
    add('--json', 'FILE.json', 'write the report', Path)


def run_controllability(args: Namespace) -> int:
    """
    Rank of the Lie algebra of a kinematic system, and its singular sets.

    Compute the Lie brackets of a kinematic system, given as a scenario, until the rank stops
    growing: the rank up to each depth at a general state and at the start, the drift and its
    divergence, the rank without each input, and the sets of angles with a lower rank.

    Exit status 1 means that the rank at the start is less than the dimension of the state.

    example:
      rolling controllability spin_rolling_straight
      rolling controllability spin_rolling_published --json brackets.json
    """
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.controllability_report import (
        controllability_report,
        report_text,
    )
    from rolling_robotics.files import checked_output, say_written, write_json

    out = checked_output(args.json, '.json', '--json') if args.json else None
    scenario = load_scenario(args.scenario)
    with Progress(f'deriving brackets of {scenario.name}'):
        report = controllability_report(scenario, args.depth)
    if out is not None:
        write_json(out, report)
    say_written(out, report_text(report))
    return 0 if report['rank_at_start'] == report['dimension'] else 1
