"""
Check that a system keeps the contract.

Put a rolling system to the checks of the contract: shapes, units, derivatives against differences,
invariants along a simulation, the contact wrench by Newton and Euler, guards, machine code,
linearisation, and planning and regulation of a small problem. Each check is a line; where one
fails, the line says what was expected and what was found, and the exit status is 1.

A system is a scenario file, the name of a scenario or of a kind of system of the suite, or
`module:factory`, a Python function that returns (system, parameters, state) or
(system, parameters, state, control).

example:
  rolling check-system spinning_plate
  rolling check-system pendulum_sphere
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from rolling_robotics.commands.arguments import number, option


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'system', metavar='SYSTEM', help='scenario file, kind of system, or module:factory'
    )
    option(parser, '--duration', 'T', number(1e-9, 1e3), 'simulated time in s', default=0.5)
    parser.add_argument('--seed', type=int, default=0, help='random seed')


def run(args: Namespace) -> int:
    """Check, and print a line for each check."""
    from rolling_controller.testing import ALL_CHECKS
    from rolling_dynamics.testing import inspect_system
    from rolling_robotics.named_system import named_system

    given = named_system(args.system)
    outcomes = inspect_system(*given, duration=args.duration, seed=args.seed, checks=ALL_CHECKS)
    for outcome in outcomes:
        text = f': {outcome.text}' if outcome.text else ''
        print(f'{outcome.verdict:8} {outcome.name}{text}')
    failed = sum(outcome.verdict == 'failed' for outcome in outcomes)
    print(f'{given.system.name}: {failed or "none"} of {len(outcomes)} checks failed')
    return 1 if failed else 0
