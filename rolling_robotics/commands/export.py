"""
Write a law as C for a microcontroller.

Write a law in discrete time as C99: one header and one source, without allocation, the state in a
struct, and a function for one step. `hold`, `drive` and `follow` take sines from the library of C
(`-lm`), others no library. It prints how many operations a step takes
at most, what it needs of the stack and, where there is a C compiler, the size of its
code. Any machine with an equilibrium near its start has the laws `hold`, `drive` where it has a
place on the floor, and `follow` along the plan of its scenario.

example:
  rolling export lqr --scenario ball_balancer --language c --out firmware
  rolling export hold --scenario my_robot.yaml
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError, quoted, suggestion
from rolling_robotics.commands.arguments import option
from rolling_robotics.console import Progress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('controller', metavar='CONTROLLER', help='name of the law, such as lqr')
    parser.add_argument(
        '--scenario', metavar='FILE', default='ball_balancer', help='scenario file or example'
    )
    parser.add_argument('--language', choices=['c'], default='c', help='language')
    option(parser, '--out', 'FOLDER', Path, 'folder to write to', default=Path())


def run(args: Namespace) -> int:
    """Write both files and print what they cost."""
    from rolling_controller.export.cost import compiled_cost
    from rolling_controller.export.machine_laws import machine_sources
    from rolling_dynamics.plugin import role_of
    from rolling_dynamics.scenario import load_scenario
    from rolling_robotics.files import checked_folder

    folder = checked_folder(args.out)
    scenario = load_scenario(args.scenario)
    laws = (role_of(scenario.system.name, 'step_laws') or machine_sources)(scenario)
    if args.controller not in laws:
        raise ParameterError(
            f'no law {quoted(args.controller)}{suggestion(args.controller, list(laws))}'
        )
    with Progress(f'writing {args.controller}'):
        source = laws[args.controller]()
    print(*source.write(folder), sep='\n')
    print(f'  operations a step   {source.operations} at most')
    print(f'  state               {8 * source.law.state.size} bytes in double')
    print(f'  stack               {8 * source.work} bytes of numbers in double')
    print(f'  code                {compiled_cost(source)}')
    return 0
