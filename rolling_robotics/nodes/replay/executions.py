"""
Executions of plans, computed anew: the same states through the same feedback.

In simulated time each state is answered once, by a command with its stamp, so a replay finds the
commands again bit by bit. Everything that the controller used is in the recording: the states, the
plan as it was executed with the time of its start, and the parameters in force. An execution may
end before its plan does; its last command has no stamp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

import numpy as np
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.parameters import FINGERPRINT
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.executed import executed_plans, source_of
from rolling_robotics.nodes.replay.replayed import Answer, recorded_values, Replayed


def replay_executions(
    recorded: Recorded, say: Callable[[str], None] = lambda _: None
) -> list[Replayed]:
    """
    Compute the commands of every execution anew.

    Parameters
    ----------
    recorded
        The recording.
    say
        Told what is at work.

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
    stretches = _stretches(recorded, source.commands)
    runs = []
    for k, ((start, plan), values) in enumerate(zip(plans, settings, strict=True)):
        say(f'execution {k + 1} of {len(plans)}: feedback')
        following = source.follow(plan, values)
        settle = values['settle_time'] if following.holds else 0.0
        later = [begin for begin, _ in plans[k + 1 : k + 2]]
        runs.append(
            _Run(
                start=start,
                duration=float(plan.times[-1]) + settle,
                law=following.law,
                commands=_commands(stretches, start, min(later, default=math.inf)),
                replayed=Replayed(
                    f'execution {k + 1}, {"open" if values["open_loop"] else "closed"} loop',
                    fingerprint=values.get(FINGERPRINT, ''),
                ),
            )
        )
    say('commands')
    for stamp, x in source.states(recorded):
        for run in runs:
            run.take(stamp, x, source.limits)
    for run in runs:
        run.end()
    return [run.replayed for run in runs]


@dataclass(eq=False, kw_only=True)
class _Run:
    """An execution: its start [ns], its length [s], its commands by stamp, what came of it."""

    start: int
    duration: float
    law: Law[Any]
    commands: dict[int, Array]
    replayed: Replayed

    def __post_init__(self) -> None:
        self._memory = self.law.start()
        self._last = max(self.commands, default=self.start - 1)

    def _time(self, stamp: int) -> float | None:
        """Return the time in the plan, by the controller's own arithmetic; None outside of it."""
        t = (stamp - self.start) * 1e-9
        return t if 0 <= t < self.duration else None

    def take(self, stamp: int, x: Array, limits: Array | None) -> None:
        """Compute the command to a state, if the execution had not ended before it came."""
        t = self._time(stamp)
        if t is None or stamp > self._last:
            return
        self._memory, u = self.law.step(
            self._memory, x, t
        )  # even if its command was not recorded: a law may remember
        if limits is not None:
            u = np.minimum(np.maximum(u, -limits), limits)
        command = self.commands.pop(stamp, None)
        self.replayed.answers.append(Answer(stamp, np.array(u, dtype=float), command))

    def end(self) -> None:
        """Note the commands that answer states which are not in the recording."""
        for stamp, command in self.commands.items():
            if self._time(stamp) is not None:
                self.replayed.answers.append(Answer(stamp, None, command))


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
