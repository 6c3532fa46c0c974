"""
Executions of plans, computed anew: the same states through the same feedback.

In simulated time each state is answered once, by a command with its stamp, so a replay finds the
commands again bit by bit. Everything that the controller used is in the recording: the states, the
plan as it was executed with the time of its start, and the parameters in force.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rolling_dynamics.errors import ParameterError
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
    runs = []
    for k, ((start, plan), values) in enumerate(zip(plans, settings, strict=True), 1):
        say(f'execution {k} of {len(plans)}: feedback')
        title = f'execution {k}, {"open" if values["open_loop"] else "closed"} loop'
        law = source.follow(plan, values).law
        runs.append((start, float(plan.times[-1]), law, Replayed(title)))
    say('commands')
    commands, limits = dict(recorded_values(recorded, source.commands)), source.limits
    for stamp, x in source.states(recorded):
        for start, duration, law, replayed in runs:
            t = (stamp - start) * 1e-9  # by the controller's own arithmetic
            if stamp not in commands or not 0 <= t < duration:
                continue
            u = law.command(t, x)
            if limits is not None:
                u = np.minimum(np.maximum(u, -limits), limits)
            answer = Answer(stamp, np.array(u, dtype=float), commands[stamp])
            replayed.answers.append(answer)
    return [run[-1] for run in runs]
