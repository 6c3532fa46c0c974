"""`rolling replay`: compute the commands of a recorded experiment anew."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.commands.recordings import SCENARIO_HELP

HELP = 'replay a recorded experiment in lockstep and compare it bit by bit'
DESCRIPTION = """\
Read a recording, design the feedback of each execution from the plan and the parameters that were
recorded, give it the recorded states one after the other, and compare its commands with those that
were sent: an experiment in simulated time gives them again bit by bit. Where an estimator was
recorded with its inputs and its log (estimator/steps, estimator/settings), its estimates are
computed again too, and so are the commands of the laboratory from the log of its controller
(controller/steps, controller/settings); those come out bit by bit by the clock as well.

A recording names the scenario of its nodes. One that comes with the suite is taken; any other file
is not opened unless --scenario gives it.

Exit status 1 tells that a command or an estimate differs."""
EXAMPLE = """\
  rolling demo ball_on_plate --simulated-time --out build/demo
  rolling replay build/demo/recording"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument('recording', metavar='FOLDER', type=Path, help='folder of a recording')
    parser.add_argument('--scenario', metavar='SCENARIO', type=Path, help=SCENARIO_HELP)


def run(args: Namespace) -> int:
    """Replay."""
    from rolling_robotics.commands.recordings import opened  # noqa: PLC0415  (--help stays fast)
    from rolling_robotics.progress import Progress  # noqa: PLC0415

    with (
        opened('replay', args.recording, args.scenario) as recorded,
        Progress('replaying') as progress,
    ):
        from rolling_robotics.nodes.replaying import PLAN, replay  # noqa: PLC0415
        from rolling_robotics.nodes.replaying_estimates import replay_estimates  # noqa: PLC0415
        from rolling_robotics.nodes.replaying_runs import replay_runs  # noqa: PLC0415

        progress.say('estimates')
        estimates = replay_estimates(recorded)
        trials = replay_runs(recorded, progress.say)
        other = (estimates or trials) and not recorded.topic(PLAN)
        runs = [] if other else replay(recorded, progress.say)
    for stream in estimates:
        print(f'{stream.topic}: {stream.equal} of {stream.recorded} estimates equal bit by bit')
    for k, trial in enumerate(trials, 1):
        print(
            f'run {k}, {trial.law}: {trial.equal} of {trial.recorded} commands equal bit by bit, '
            f'greatest difference {trial.difference:.3g}'
        )
        if trial.lost:
            print(f'  {trial.lost} not computed, a state that they took is not in the recording')
        missing = trial.steps - trial.lost - trial.recorded
        if missing:
            print(f'  {missing} not compared, they are not in the recording')
    for k, run in enumerate(runs, 1):
        kind = 'open loop' if run.open_loop else 'closed loop'
        print(
            f'execution {k}, {kind}: {run.equal} of {len(run.replayed)} commands equal bit by '
            f'bit, greatest difference {run.difference:.3g}'
        )
    same = all(run.replayed and run.equal == len(run.replayed) for run in runs)
    same = same and all(trial.same for trial in trials)
    return 0 if same and all(s.equal == s.recorded for s in estimates) else 1
