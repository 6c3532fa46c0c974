"""
Executions of plans in a recording: their motion, and the steps of those that have no log.

Older recordings have no log of the controller. In simulated time each state is answered once, by a
command with its stamp, so that the steps of executions follow from states and commands. An
execution may end before its plan does; its last command has no stamp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import dropwhile, takewhile
import math
from typing import Any

import numpy as np
from rolling_controller.nodes.controller_node import machine_of
from rolling_controller.nodes.step_log import EXECUTION, RUN, SECOND
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.chosen import system_of
from rolling_dynamics.nodes.measurements import states_of
from rolling_dynamics.nodes.topics import CommandTopic
from rolling_dynamics.scenario_model import load_any, Model, RobotModel
from rolling_node_kit.cdr import ACCEL, decode_stamped, hand_control
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan
from rolling_robotics.arrays import layout_series
from rolling_robotics.figures.beside import motion_of_plan
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.trials.trial import CLOSED_LOOP, OPEN_LOOP, Record

Timed = tuple[int, Array]  # stamp [ns] and values
# of what follows plans, and of other machines
SETTINGS, PLAN = ('execution/settings', 'controller/settings'), 'execution/plan'


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
        for _, _, data in recorded.raw(['hand/accel_command']):
            accel = decode_stamped(data, ACCEL)
            yield accel.stamp, hand_control(accel.values)
        return
    topic = CommandTopic(model.system, model.scenario.actuators)
    for _, _, message in recorded.messages([topic.name]):
        yield topic.read(message)


def settings_of(recorded: Recorded) -> list[dict[str, Any]]:
    """Return the parameters in force at each run of a controller."""

    def table(values: dict[str, Any]) -> Any:
        return *machine_of(values).parameters(system_of(values)), *RUN

    return [values for name in SETTINGS for values in recorded.settings(name, table)]


def plans_of(recorded: Recorded) -> list[tuple[int, Plan]]:
    """Return time of the start [ns] and plan of each execution."""
    messages = (m for _, _, m in recorded.messages([PLAN]))
    return [(time_to_nanoseconds(m.header.stamp), message_to_plan(m)) for m in messages]


def executed_plans(recorded: Recorded) -> tuple[list[dict[str, Any]], list[tuple[int, Plan]]]:
    """
    Return the parameters in force and (time of the start [ns], plan) of each execution.

    Raises
    ------
    ParameterError
        Nothing was executed while it was recorded, or a plan is not valid.

    """
    settings = [values for values in settings_of(recorded) if values['task'] == EXECUTION]
    plans = plans_of(recorded)
    if not plans:
        raise ParameterError(
            f'{recorded.path}: holds no {PLAN}, nothing was executed while it was recorded'
        )
    if len(settings) < len(plans):
        raise ParameterError(f'{recorded.path}: holds no {SETTINGS[0]} for each {PLAN}')
    return settings[: len(plans)], plans


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


def converted_runs(recorded: Recorded) -> Iterator[tuple[dict[str, Any], Array]]:
    """
    Yield parameters and steps of the executions of a recording without a log.

    The rows are those of the log; the command of a state is NaN where it was not recorded.

    Raises
    ------
    ParameterError
        They do not follow from the recording, or nothing was executed.

    """
    settings, plans = executed_plans(recorded)
    if any(values['estimate_state'] or not values['use_sim_time'] for values in settings):
        raise ParameterError(
            f'{recorded.path}: has no log of the controller: its commands are computed again only '
            'if they answered states of the plant in simulated time'
        )
    model = load_any(settings[0]['scenario_file'])
    states, sent = list(_states(recorded, model)), list(_sent(recorded, model))
    unknown, ends = np.full(model.system.control.size, np.nan), [start for start, _ in plans[1:]]

    def steps(run: int, start: int, end: float, duration: float) -> Iterator[Array]:
        later = dropwhile(lambda command: command[0] < start, sent)
        commands = dict(takewhile(lambda command: start <= command[0] < end, later))
        answered = {t: x for t, x in states if start <= t <= max(commands, default=0)}
        for step, at in enumerate(sorted({*answered, *commands})):
            t = (at - start) * 1e-9
            if at in answered and t < duration:
                head = run, step, 0, at // SECOND, at % SECOND, t
                yield np.r_[head, answered[at], commands.get(at, unknown)]

    for k, ((start, plan), end) in enumerate(zip(plans, [*ends, math.inf], strict=True)):
        if rows := list(steps(k, start, end, plan.duration)):
            yield settings[k] | {'run': k}, np.array(rows)
