"""
Have a plan executed by running nodes, after planning it if a goal is given.

Send a plan to the controller of running nodes (`ros2 launch ...`), show how it goes, and say
whether the goal was reached. Without a file and without --goal it is the newest plan of the
planner. With --goal the planner makes one first, from where the system is.

Exit status 1 means that there is no plan, or that the goal was missed; the text says why.

example:
  rolling execute --goal u_h=0 v_h=0.05 --horizon 2
  rolling execute plan.json --namespace /robot_1
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import finite, named, need_ros, number, option


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'plan', 'PLAN.json', Path, 'result of `rolling plan`', nargs='?')
    option(
        parser,
        '--goal',
        'NAME=VALUE',
        named('NAME=VALUE, for example u_h=0.05,', finite),
        'entries of the state at the end, in units of the layout; others are free',
        nargs='+',
        default=[],
    )
    option(
        parser,
        '--horizon',
        'S',
        number(0, 1e9),
        'duration of the motion to be planned; may be left out where the planner finds it',
        default=0.0,
    )
    parser.add_argument('--namespace', default='', help='namespace of the nodes')
    option(
        parser,
        '--timeout',
        'S',
        number(1e-9, 1e9),
        'longest wait for the plan, and for its execution (default: 600)',
        default=600.0,
    )


def run(args: Namespace) -> int:
    """Plan if a goal is given, execute, and report."""
    goal = dict(args.goal)
    names = [name for name, _ in args.goal]
    if len(goal) < len(names):
        raise ParameterError(f'--goal: {max(names, key=names.count)} is given twice')
    if args.plan is not None and goal:
        raise ParameterError('give a plan or --goal, not both')
    if args.horizon and not goal:
        raise ParameterError('--horizon goes with --goal')
    need_ros('execute')
    from rolling_robotics.nodes.executing import execute

    return execute(args.plan, goal, args.horizon, args.namespace, args.timeout)
