"""
Executions of plans, computed again: the same states through the same feedback.

In simulated time each state is answered once, by a command with its stamp, so a replay finds the
commands again bit by bit. Everything that the controller used is in the recording: the states, the
plan as it was executed with the time of its start, and the parameters in force. An execution may
end before its plan does; its last command has no stamp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
import math
from typing import Any

import numpy as np
from rolling_controller.design import follow, PREDICTIVE, Wanted
from rolling_controller.law import Following, Law, replay
from rolling_controller.nodes.controller_parameters import HAND_TABLE
from rolling_controller.nodes.machines import ROBOT_TABLE
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.measurements import states_of
from rolling_dynamics.nodes.topics import CommandTopic
from rolling_dynamics.plugin import plugins
from rolling_dynamics.scenario_model import load_any, Model, RobotModel
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.parameters import FINGERPRINT
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import check_states_fit, Plan
from rolling_robotics.arrays import layout_series
from rolling_robotics.figures.beside import motion_of_plan
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.estimates import replay_estimates
from rolling_robotics.nodes.replay.runs import (
    Answer,
    NOT_AGAIN,
    recorded_values,
    replay_runs,
    Replayed,
    Timed,
)
from rolling_robotics.trials.trial import CLOSED_LOOP, OPEN_LOOP, Record

SETTINGS, PLAN = 'execution/settings', 'execution/plan'


def _states(recorded: Recorded, model: Model | RobotModel) -> Iterator[Timed]:
    """Yield the states as the controller of an object on a hand, or of a robot, read them."""
    states = states_of(model.system, model.params, model.start)
    for topic, _, data in recorded.raw(states.topics):
        count = states.count
        states.take(data, topic)
        found = states.state()
        if states.count > count and found is not None:
            yield found


def _sent(recorded: Recorded, model: Model | RobotModel) -> Iterator[Timed]:
    """Yield the commands as the controller of an object on a hand, or of a robot, sent them."""
    if isinstance(model, Model):
        yield from recorded_values(recorded, 'hand/accel_command')
        return
    topic = CommandTopic(model.system, model.scenario.actuators)
    for _, _, message in recorded.messages([topic.name]):
        yield topic.read(message)


def _follow(model: Model | RobotModel, plan: Plan, settings: Mapping[str, Any]) -> Following:
    """Return the feedback along a plan."""
    if not isinstance(model, Model):
        check_states_fit(plan, model.system)
    elif settings.get('law') == PREDICTIVE and not settings['open_loop']:
        raise ParameterError(NOT_AGAIN)
    return follow(Wanted(model, plan, settings))


def executed_plans(recorded: Recorded) -> tuple[list[dict[str, Any]], list[tuple[int, Plan]]]:
    """
    Return the parameters in force and (time of the start [ns], plan) of each execution.

    Raises
    ------
    ParameterError
        Nothing was executed while it was recorded, or a plan is not valid.

    """
    table = ROBOT_TABLE if recorded.topic('robot/state') else HAND_TABLE
    settings = recorded.settings(SETTINGS, table)
    plans = [m for _, _, m in recorded.messages([PLAN])]
    if not plans:
        raise ParameterError(
            f'{recorded.path}: holds no {PLAN}, nothing was executed while it was recorded'
        )
    if len(settings) < len(plans):
        raise ParameterError(f'{recorded.path}: holds no {SETTINGS} for each {PLAN}')
    starts = [(time_to_nanoseconds(m.header.stamp), message_to_plan(m)) for m in plans]
    return settings[: len(plans)], starts


def recorded_executions(recorded: Recorded) -> list[Record]:
    """Return the executions; raise ParameterError if nothing was executed."""
    settings, plans = executed_plans(recorded)
    model = load_any(settings[0]['scenario_file'])
    states = list(_states(recorded, model))
    commands = list(_sent(recorded, model))
    return [
        replace(
            _between(model.system, states, commands, start, plan.duration),
            law=OPEN_LOOP if values['open_loop'] else CLOSED_LOOP,
            planned=motion_of_plan(plan),
            plan=plan,
        )
        for (start, plan), values in zip(plans, settings, strict=True)
    ]


def _between(
    system: RollingSystem, states: list[Timed], commands: list[Timed], start: int, duration: float
) -> Record:
    """Return states and controls, held from one command to the next, of an execution."""
    chosen = [(stamp, x) for stamp, x in states if 0 <= stamp - start <= duration * 1e9]
    given = [(stamp, u) for stamp, u in commands if stamp >= start]
    stamps = np.array([stamp for stamp, _ in chosen], dtype=np.int64)
    when = np.searchsorted([stamp for stamp, _ in given], stamps, side='right') - 1
    arrays = layout_series(system.state, np.array([x for _, x in chosen])) if chosen else {}
    if given and chosen:
        held = np.array([u for _, u in given])[np.maximum(when, 0)]
        arrays |= layout_series(system.control, np.where(when[:, None] < 0, np.nan, held))
    return Record(
        times=np.asarray((stamps - start) * 1e-9, dtype=float),
        arrays=arrays,
        begin=start * 1e-9,
        end=duration,
    )


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
        Nothing was executed in it, or not in simulated time, or from states that are not in it,
        or a plan does not fit its scenario.

    """
    settings, plans = executed_plans(recorded)
    if any(s.get('estimate_state') for s in settings):
        raise ParameterError(
            f'{recorded.path}: the controller estimated its states from sensors (estimate_state), '
            'and they are not in the recording: its commands cannot be computed again'
        )
    if not all(s['use_sim_time'] for s in settings):
        raise ParameterError(
            f'{recorded.path}: was made in wall-clock time, where a command depends on the moment '
            'of its computation; only an experiment in simulated time is replayed bit by bit'
        )
    model = load_any(settings[0]['scenario_file'])
    if isinstance(model, Model):
        model = model.limited()
    stretches = _stretches(_sent(recorded, model))
    states, limits = list(_states(recorded, model)), model.control_limits
    runs = []
    for k, ((start, plan), values) in enumerate(zip(plans, settings, strict=True)):
        say(f'execution {k + 1} of {len(plans)}')
        following = _follow(model, plan, values)
        settle = values['settle_time'] if following.holds else 0.0
        later = [begin for begin, _ in plans[k + 1 : k + 2]]
        commands = _commands(stretches, start, min(later, default=math.inf))
        duration = float(plan.times[-1]) + settle
        runs.append(
            Replayed(
                f'execution {k + 1}, {"open" if values["open_loop"] else "closed"} loop',
                fingerprint=values.get(FINGERPRINT, ''),
                answers=_answers(following.law, states, start, duration, commands, limits),
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


def _stretches(sent: Iterable[Timed]) -> list[dict[int, Array]]:
    """Return the commands by their stamps, divided by those that have none."""
    stretches: list[dict[int, Array]] = [{}]
    for stamp, u in sent:
        if stamp:
            stretches[-1][stamp] = u
        else:
            stretches.append({})
    return stretches


def _commands(stretches: list[dict[int, Array]], start: int, end: float) -> dict[int, Array]:
    """Return the commands of the execution that starts at a time [ns], before the next starts."""
    within = ({t: u for t, u in s.items() if start <= t < end} for s in stretches)
    return next((commands for commands in within if commands), {})


def replay_recording(
    recorded: Recorded, say: Callable[[str], None] = lambda _: None
) -> list[Replayed]:
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
