"""
Commands of a ball balancer or a labyrinth, computed again: the same frames through the same law.

The controller logs what its law was given with each frame. With its parameters that is all on
which its commands depend: they come out bit by bit, in wall-clock time too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from rolling_controller.ball_balancer.laws import law_on_nodes
from rolling_controller.ball_balancer.nodes.controlled_rig import TABLE
from rolling_controller.ball_balancer.rig import FRAME, supervised
from rolling_controller.law import replay
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import rig_file
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.runs import Answer, Replayed

FRAMES, SETTINGS, COMMANDS = 'controller/frames', 'controller/settings', 'servo_command'


def replay_rig(recorded: Recorded, say: Callable[[str], None] = lambda _: None) -> list[Replayed]:
    """
    Compute the commands of a rig again.

    Parameters
    ----------
    recorded
        With the log and the parameters of the controller.
    say
        Called with what is at work.

    Returns
    -------
    list of Replayed
        One for each time that the law began; empty if no rig was recorded.

    Raises
    ------
    ParameterError
        The log is damaged or lacks the beginning, or the law is not a rig's.

    """
    log = [(time_to_nanoseconds(m.header.stamp), m) for _, _, m in recorded.messages([FRAMES])]
    settings = recorded.settings(SETTINGS, TABLE) if log else []
    if not settings:
        return []
    say('law of the rig')
    file = rig_file(load_scenario(settings[0]['scenario_file']))
    system, p = file.system_and_parameters()
    law = supervised(file, law_on_nodes(file, settings[0]['law']))
    commands = _commands(recorded, file.actuator(system).message)
    say('commands')
    if any(tuple(m.name) != FRAME or len(m.position) != len(FRAME) for _, m in log):
        raise ParameterError(f'{recorded.path}: {FRAMES} is damaged')
    stamps, rows = np.array([t for t, _ in log]), np.array([m.position for _, m in log])
    begins = np.flatnonzero(rows[:, -1]).tolist()
    if not begins or begins[0] > 0:
        raise ParameterError(
            f'{recorded.path}: {FRAMES} lacks the beginning; start the recorder before the '
            'controller'
        )
    runs, memory = [], None
    for k, (first, end) in enumerate(pairwise([*begins, len(log)])):
        times = stamps[first:end]
        tilts, memory = replay(law, rows[first:end, :-1], times * 1e-9, memory)
        answers = [
            Answer(t, file.command(system, p, tilt), commands.get(t))
            for t, tilt in zip(times.tolist(), tilts, strict=True)
        ]
        title, machine = f'run {k + 1}, {settings[0]["law"]}', settings[0].get(FINGERPRINT, '')
        runs.append(Replayed(title, fingerprint=machine, answers=answers))
    return runs


def _commands(recorded: Recorded, kind: str) -> dict[int, Array]:
    """Return the first numbers of a kind that were sent with each stamp [ns]."""
    out: dict[int, Array] = {}
    for _, _, message in recorded.messages([COMMANDS]):
        stamp = time_to_nanoseconds(message.header.stamp)
        if len(message.points):
            out.setdefault(stamp, np.array(getattr(message.points[0], kind), dtype=float))
    return out
