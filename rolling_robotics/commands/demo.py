"""
Run a demonstration, on ROS 2 nodes where ROS is there.

Start the nodes of an experiment as separate processes on ROS 2, run it, print the result and leave
a figure and a recording. Without ROS the same trials run in this process, with the same figure.
The exit status says whether the goal was reached: 0 yes, 1 no, 4 inconclusive: the machine did not
keep the clock, or samples are missing. What is inconclusive by the clock is run once more, in
simulated time, unless --no-simulated-time was given.

example:
  rolling demo ball_on_plate --simulated-time --out build/demo
"""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction, Namespace
from importlib.util import find_spec
import math
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands.arguments import number, option
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        'name',
        metavar='NAME',
        help='demonstration, such as ball_on_plate, or the scenario of a rolling robot; an '
        'unknown name gets the list',
    )
    option(
        parser,
        '--out',
        'FOLDER',
        Path,
        'folder for figure and recording',
        default=Path('build', 'demo'),
    )
    parser.add_argument(
        '--hardware',
        choices=(SIMULATED, EMULATED, REAL),
        default='',
        help='laboratory experiments only: a simulated hand, or arm, motors and camera emulated '
        'behind the topics of hardware (default: simulated)',
    )
    option(
        parser,
        '--trials',
        'N',
        number(0, math.inf, int),
        'laboratory experiments only: number of closed-loop trials (default: 12; damping: 4)',
        default=0,
    )
    option(
        parser,
        '--rate',
        'HZ',
        number(100, 2000),
        'loop rate of emulated hardware in wall-clock time (default: 1000, or 250 with '
        'fewer than 4 processors)',
        default=0.0,
    )
    parser.add_argument(
        '--law',
        metavar='LAW',
        default='',
        help='law of the feedback, where a demonstration has several: lqr, predictive, pid, '
        'exported, closed_loop; one that it has not gets the list',
    )
    parser.add_argument(
        '--simulated-time',
        action=BooleanOptionalAction,
        default=None,
        help='run plant and controller in lockstep on simulated time (default: only where this '
        'machine does not keep the clock)',
    )
    parser.add_argument(
        '--ros',
        action=BooleanOptionalAction,
        default=None,
        help='carry out the trials by ROS nodes; --no-ros lets plant and law take turns in this '
        'process, without a recording (default: nodes where ROS 2 can be imported)',
    )


def run(args: Namespace) -> int:
    """Run it on nodes where ROS is there, else in this process."""
    from rolling_robotics.demo.run import run_demo
    from rolling_robotics.experiments import EXPERIMENTS

    laboratory = [name for name, experiment in EXPERIMENTS.items() if experiment.hardware]
    if args.name not in laboratory and (args.hardware or args.trials or args.rate):
        raise ParameterError(
            f'--hardware, --trials and --rate go with {", ".join(laboratory)}, got {args.name!r}'
        )
    return run_demo(
        args.name,
        args.out,
        law=args.law,
        hardware=args.hardware,
        trials=args.trials,
        use_sim_time=args.simulated_time,
        rate=args.rate,
        ros=find_spec('rclpy') is not None if args.ros is None else args.ros,
    )
