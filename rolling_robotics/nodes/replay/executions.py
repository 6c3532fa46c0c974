"""
Executions of plans, computed again: the same states through the same feedback.

In simulated time each state is answered once, by a command with its stamp, so a replay finds the
commands again bit by bit. Everything that the controller used is in the recording: the states, the
plan as it was executed with the time of its start, and the parameters in force. An execution may
end before its plan does; its last command has no stamp.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any

import numpy as np
from rolling_controller.law import Law, replay
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.executed import executed_plans, source_of
from rolling_robotics.nodes.replay.replayed import Answer, recorded_values, Replayed, Timed


def replay_executions(
    recorded: Recorded, say: Callable[[str], None] = lambda _: None
) -> list[Replayed]:
    """
    Compute the commands of every execution again.

    Parameters
    ----------
    recorded
        The recording.
    say
        Called with what is at work.

    Raises
    ------
    ParameterError
        Nothing was executed in it, or not in simulated time, or a plan does not fit its scenario.

    """
    settings, plans = executed_plans(recorded)
    if not all(s['use_sim_time'] for s in settings):
        raise ParameterError(
            f'{recorded.path}: was made in wall-clock time, where a command depends on the moment '
            'of its computation; only an experiment in simulated time is replayed bit by bit'
        )
    source = source_of(settings[0]['scenario_file'])
    stretches, states = _stretches(recorded, source.commands), list(source.states(recorded))
    runs = []
    for k, ((start, plan), values) in enumerate(zip(plans, settings, strict=True)):
        say(f'execution {k + 1} of {len(plans)}')
        following = source.follow(plan, values)
        settle = values['settle_time'] if following.holds else 0.0
        later = [begin for begin, _ in plans[k + 1 : k + 2]]
        commands = _commands(stretches, start, min(later, default=math.inf))
        duration = float(plan.times[-1]) + settle
        runs.append(
            Replayed(
                f'execution {k + 1}, {"open" if values["open_loop"] else "closed"} loop',
                fingerprint=values.get(FINGERPRINT, ''),
                answers=_answers(following.law, states, start, duration, commands, source.limits),
            )
        )
    return runs


def _answers(
    law: Law[Any],
    states: list[Timed],
    start: int,
    duration: float,
    commands: dict[int, Array],
    limits: Array | None,
) -> list[Answer]:
    """Return the answers to the states of an execution, which may end before its plan does."""
    last = max(commands, default=start - 1)
    # by the controller's own arithmetic; a law may remember states whose command is not recorded
    taken = [
        (stamp, (stamp - start) * 1e-9, x)
        for stamp, x in states
        if start <= stamp <= last and (stamp - start) * 1e-9 < duration
    ]
    computed, _ = replay(law, [x for _, _, x in taken], [t for _, t, _ in taken])
    if limits is not None:
        computed = np.minimum(np.maximum(computed, -limits), limits)
    stamps = [stamp for stamp, _, _ in taken]
    out = [
        Answer(stamp, u, commands.get(stamp)) for stamp, u in zip(stamps, computed, strict=True)
    ]
    lost = sorted(set(commands) - set(stamps))
    return out + [Answer(t, None, commands[t]) for t in lost if 0 <= (t - start) * 1e-9 < duration]


def _stretches(recorded: Recorded, topic: str) -> list[dict[int, Array]]:
    """Return the commands by their stamps, divided by those that have none."""
    stretches: list[dict[int, Array]] = [{}]
    for stamp, u in recorded_values(recorded, topic):
        if stamp:
            stretches[-1][stamp] = u
        else:
            stretches.append({})
    return stretches


def _commands(stretches: list[dict[int, Array]], start: int, end: float) -> dict[int, Array]:
    """Return the commands of the execution that starts at a time [ns], before the next starts."""
    within = ({t: u for t, u in s.items() if start <= t < end} for s in stretches)
    return next((commands for commands in within if commands), {})
