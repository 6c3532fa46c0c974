"""
Check scenario files without running them.

Validate scenario files, with their sections `plan` and `sweep` if present. Each error names the
path of the entry, the value given and what is allowed. Values that are allowed but unlikely, such
as a ball of 100 m, are questioned and do not change the exit status. With `--picture` the start is
drawn: bodies, axes and contact frame. Of a machine from parts it reports how many of the
velocities at contacts are independent, which twists they leave free, and which forces move
nothing.

example:
  rolling check spinning_plate my_scenario.yaml
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rolling_dynamics.errors import ParameterError, RollingError
from rolling_robotics.commands.arguments import option
from rolling_robotics.console import say

if TYPE_CHECKING:
    from rolling_dynamics.scenario import Scenario


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'scenarios', metavar='SCENARIO', nargs='+', help='files, or examples by name'
    )
    option(parser, '--picture', 'FILE.png', Path, 'draw the start of one scenario')


def run(args: Namespace) -> int:
    """Check each file."""
    from rolling_dynamics.scenario import load_scenario
    from rolling_planner.planners.planner import planner_of

    if args.picture and len(args.scenarios) > 1:
        raise ParameterError('--picture: draws one scenario; give one file')

    def fault(path: str) -> str:
        """Return what is wrong with a file, empty if nothing is."""
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
    """Yield what is questioned, and points of a sweep that are refused."""
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
