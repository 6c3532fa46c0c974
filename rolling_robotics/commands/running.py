"""Demonstrations, and plans and recordings of running nodes."""

from __future__ import annotations

from argparse import BooleanOptionalAction, Namespace
from importlib.util import find_spec
import math
from pathlib import Path

from rolling_dynamics.errors import ParameterError
from rolling_robotics.commands import Add
from rolling_robotics.commands.arguments import (
    finite,
    named,
    need_ros,
    number,
    opened,
    SCENARIO_HELP,
)
from rolling_robotics.console import Progress
from rolling_robotics.hardware import EMULATED, REAL, SIMULATED


def declare_demo(add: Add) -> None:
    """Declare the options."""
    add(
        'name',
        'NAME',
        'demonstration, such as ball_on_plate, or the scenario of a rolling robot; an '
        'unknown name gets the list',
    )
    add('--out', 'FOLDER', 'folder for figure and recording', Path, default=Path('build', 'demo'))
    add(
        '--hardware',
        None,
        'the true state of a simulated machine, or what is behind the topics of hardware '
        'emulated: the sensors of a robot, or arm, motors and camera (default: simulated)',
        choices=(SIMULATED, EMULATED, REAL),
        default='',
    )
    add(
        '--trials',
        'N',
        'laboratory experiments only: number of closed-loop trials (default: 12; damping: 4)',
        number(0, math.inf, int),
        default=0,
    )
    add(
        '--rate',
        'HZ',
        'loop rate of emulated hardware in wall-clock time (default: 1000, or 250 with '
        'fewer than 4 processors)',
        number(100, 2000),
        default=0.0,
    )
    add(
        '--law',
        'LAW',
        'controller, where a demonstration has several: lqr, predictive, pid, '
        'exported, closed_loop; one that it has not gets the list',
        default='',
    )
    add(
        '--simulated-time',
        None,
        'run plant and controller in lockstep on simulated time (default: only where this '
        'machine does not keep the clock)',
        action=BooleanOptionalAction,
        default=None,
    )
    add(
        '--ros',
        None,
        'carry out the trials by ROS nodes; --no-ros lets plant and controller take turns in '
        'this process, without a recording (default: nodes where ROS 2 can be imported)',
        action=BooleanOptionalAction,
        default=None,
    )


def run_demo(args: Namespace) -> int:
    """
    Run a demonstration, on ROS 2 nodes where ROS is installed.

    Start the nodes of an experiment as separate processes on ROS 2, run it, print the result and
    leave a figure and a recording. Without ROS the same trials run in this process, with the same
    figure. The exit status reports whether the goal was reached: 0 yes, 1 no, 4 inconclusive: the
    computer was too slow for real time, or samples are missing. An inconclusive run in real time
    is repeated in simulated time, unless --no-simulated-time was given.

    example:
      rolling demo ball_on_plate --simulated-time --out build/demo
    """
    from rolling_robotics.demo.run import run_demo
    from rolling_robotics.experiments import EXPERIMENTS
    from rolling_robotics.files import checked_folder

    laboratory = [name for name, experiment in EXPERIMENTS.items() if experiment.hardware]
    if args.name not in laboratory and (args.trials or args.rate):
        raise ParameterError(
            f'--trials and --rate go with {", ".join(laboratory)}, got {args.name!r}'
        )
    return run_demo(
        args.name,
        checked_folder(args.out),
        law=args.law,
        hardware=args.hardware,
        trials=args.trials,
        use_sim_time=args.simulated_time,
        rate=args.rate,
        ros=find_spec('rclpy') is not None if args.ros is None else args.ros,
    )


def declare_execute(add: Add) -> None:
    """Declare the options."""
    add('plan', 'PLAN.json', 'result of `rolling plan`', Path, nargs='?')
    add(
        '--goal',
        'NAME=VALUE',
        'entries of the state at the end, in units of the layout; others are free',
        named('NAME=VALUE, for example u_h=0.05,', finite),
        nargs='+',
        default=[],
    )
    add(
        '--horizon',
        'S',
        'duration of the motion to be planned; may be left out where the planner finds it',
        number(0, 1e9),
        default=0.0,
    )
    add('--namespace', 'NAMESPACE', 'namespace of the nodes', default='')
    add(
        '--timeout',
        'S',
        'longest wait for the plan, and for its execution (default: 600)',
        number(1e-9, 1e9),
        default=600.0,
    )


def run_execute(args: Namespace) -> int:
    """
    Execute a plan on running nodes, after planning it if a goal is given.

    Send a plan to the controller of running nodes (`ros2 launch ...`), show the progress, and
    report whether the goal was reached. Without a file and without --goal it is the newest plan of
    the planner. With --goal the planner makes one first, from the present state.

    Exit status 1 means that there is no plan, or that the goal was missed; the text has the
    reason.

    example:
      rolling execute --goal u_h=0 v_h=0.05 --horizon 2
      rolling execute plan.json --namespace /robot_1
    """
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


def declare_record(add: Add) -> None:
    """Declare the options."""
    add('topics', 'TOPIC', 'topics to record (default: all)', nargs='*')
    add(
        '--out',
        'FOLDER',
        'folder of the recording; a number is appended if it exists',
        Path,
        default=Path('build', 'recording'),
    )
    add('--namespace', 'NAMESPACE', 'namespace of the topics', default='')


def run_record(args: Namespace) -> int:
    """
    Record topics as MCAP until Ctrl-C.

    Record topics as MCAP with their schemas, as `ros2 bag play` and Foxglove read it, until
    Ctrl-C. All topics of the domain are recorded unless some are named; messages are kept as they
    came.

    example:
      rolling record --out build/recording
      rolling record --out build/recording hand/odometry contact/wrench
    """
    need_ros('record')
    from rolling_robotics.files import checked_folder
    from rolling_robotics.nodes.recorder_node import record

    return record(checked_folder(args.out), args.topics, args.namespace)


def declare_replay(add: Add) -> None:
    """Declare the options."""
    add('recording', 'FOLDER', 'folder of a recording', Path)
    add('--scenario', 'SCENARIO', SCENARIO_HELP, Path)


def run_replay(args: Namespace) -> int:
    """
    Replay a recorded experiment in lockstep and compare it bit by bit.

    Read a recording, create each law from the recorded parameters and plan, step it with the
    recorded inputs (controller/steps), and compare its commands with the recorded ones. They match
    bit by bit, in wall-clock time too: for plans, holds, velocities, experiments of the laboratory
    and rigs. Where an estimator was recorded with its inputs and its log (estimator/steps,
    estimator/settings), its estimates are computed again too.

    They are compared bit by bit on a computer of the type that recorded, with the same versions.
    Elsewhere, or where a recording does not name its computer, numbers are compared to 1e-9, and
    the reason is printed.

    A recording names the scenario of its nodes. One that comes with the suite is used; any other
    file is only opened if --scenario names it.

    Exit status 1 means that a command or an estimate differs.

    example:
      rolling demo ball_on_plate --simulated-time --out build/demo
      rolling replay build/demo/recording
    """
    with (
        opened('replay', args.recording, args.scenario) as recorded,
        Progress('replaying') as progress,
    ):
        from rolling_robotics.nodes.replay.laws import replay_recording

        found = replay_recording(recorded, progress.say)
    for replayed in found:
        for line in replayed.lines():
            print(line)
    return 0 if all(replayed.same for replayed in found) else 1
