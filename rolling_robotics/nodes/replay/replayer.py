"""Replay of whatever a recording holds."""

from __future__ import annotations

from collections.abc import Callable

from rolling_dynamics.plugin import plugins
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.estimates import replay_estimates
from rolling_robotics.nodes.replay.executions import PLAN, replay_executions
from rolling_robotics.nodes.replay.runs import replay_runs, Replayed


def replay(recorded: Recorded, say: Callable[[str], None] = lambda _: None) -> list[Replayed]:
    """
    Compute every estimate and command of a recording again.

    Parameters
    ----------
    recorded
        The recording.
    say
        Called with what is at work.

    Raises
    ------
    ParameterError
        Nothing in it can be replayed, or a part of what is needed is missing.

    """
    say('estimates')
    found = [*replay_estimates(recorded), *replay_runs(recorded, say)]
    for of_system in dict.fromkeys(plugin.load('replay') for plugin in plugins().values()):
        found += of_system(recorded, say) if of_system is not None else []
    if not found or recorded.topic(PLAN):
        found += replay_executions(recorded, say)
    return found
