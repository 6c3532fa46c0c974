"""
Replay a recorded experiment in lockstep and compare it bit by bit.

Read a recording, design the feedback of each execution from the plan and the parameters that were
recorded, give it the recorded states one after the other, and compare its commands with those that
were sent: an experiment in simulated time gives them again bit by bit. Where an estimator was
recorded with its inputs and its log (estimator/steps, estimator/settings), its estimates are
computed again too, and so are the commands of the laboratory from the log of its controller
(controller/steps, controller/settings), or of a ball balancer or labyrinth (controller/frames);
those match bit by bit in wall-clock time too.

They are compared bit by bit on a machine of the kind that recorded, with the same versions.
Elsewhere, or where a recording does not say what it was made on, numbers are compared to 1e-9, and
the reason is printed.

A recording names the scenario of its nodes. One that comes with the suite is taken; any other file
is not opened unless --scenario gives it.

Exit status 1 means that a command or an estimate differs.

example:
  rolling demo ball_on_plate --simulated-time --out build/demo
  rolling replay build/demo/recording
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from rolling_robotics.commands.arguments import opened, option, SCENARIO_HELP
from rolling_robotics.console import Progress


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options."""
    option(parser, 'recording', 'FOLDER', Path, 'folder of a recording')
    option(parser, '--scenario', 'SCENARIO', Path, SCENARIO_HELP)


def run(args: Namespace) -> int:
    """Replay."""
    with (
        opened('replay', args.recording, args.scenario) as recorded,
        Progress('replaying') as progress,
    ):
        from rolling_robotics.nodes.replay.executions import replay_recording

        found = replay_recording(recorded, progress.say)
    for replayed in found:
        for line in replayed.lines():
            print(line)
    return 0 if all(replayed.same for replayed in found) else 1
