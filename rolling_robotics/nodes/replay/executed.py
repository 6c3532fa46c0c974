"""The executions of a recording: each plan, and the states and controls that came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from rolling_controller.law import Following, OpenLoop
from rolling_controller.nodes.controller_parameters import TABLE as HAND_TABLE
from rolling_controller.nodes.robot_controller_node import Options
from rolling_controller.nodes.robot_parameters import TABLE as ROBOT_TABLE
from rolling_controller.nodes.robot_states import RobotStates
from rolling_controller.robot_laws import robot_kind
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_robot
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan
from rolling_planner.plan_fit import check_states_fit
from rolling_robotics.figures.beside import Group, Motion
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.hand_source import HandSource
from rolling_robotics.nodes.replay.replayed import recorded_values, Timed

SETTINGS, PLAN = 'execution/settings', 'execution/plan'


class RobotSource:
    """A rolling robot: its whole state, its control; attributes as of :class:`HandSource`."""

    commands = 'robot/control'

    def __init__(self, scenario_file: str) -> None:
        """Load the model."""
        self._model = load_robot(scenario_file)
        self.system, self.limits = self._model.system, self._model.control_limits
        self._states = RobotStates(self._model.system.state, 'robot/state')

    def states(self, recorded: Recorded) -> Iterator[Timed]:
        """Yield the states as the controller read them."""
        for _, _, data in recorded.raw(['robot/state']):
            count = self._states.count
            self._states.take(data)
            found = self._states.state()
            if self._states.count > count and found is not None:
                yield found

    def follow(self, plan: Plan, settings: Mapping[str, Any]) -> Following:
        """Return the feedback along a plan."""
        check_states_fit(plan, self._model.system)
        if settings['open_loop']:
            return Following(OpenLoop(plan), plan.times, plan.states)
        kind = robot_kind(self._model.system.name)
        return kind.make(self._model.scenario, Options(settings, kind)).follow(plan)


def source_of(scenario_file: str) -> HandSource | RobotSource:
    """Return the reader of the states and commands of a scenario's system."""
    on_a_hand = offers(load_scenario(scenario_file).system, CarriedObject) is not None
    return HandSource(scenario_file) if on_a_hand else RobotSource(scenario_file)


def executed_plans(recorded: Recorded) -> tuple[list[dict[str, Any]], list[tuple[int, Plan]]]:
    """
    Return the parameters in force and (time of the start [ns], plan) of each execution.

    Raises
    ------
    ParameterError
        Nothing was executed while it was recorded, or a plan is none.

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


@dataclass(frozen=True)
class Execution:
    """
    One execution.

    Attributes
    ----------
    open_loop
        Whether the plan was played back without feedback.
    plan
        The plan.
    motion
        Executed states and controls by scalar name, times from the start of the plan [s].
    groups
        What of it belongs together.

    """

    open_loop: bool
    plan: Plan
    motion: Motion
    groups: list[Group]


def recorded_executions(recorded: Recorded) -> list[Execution]:
    """Return the executions; raise ParameterError if nothing was executed."""
    settings, plans = executed_plans(recorded)
    source = source_of(settings[0]['scenario_file'])
    system, states = source.system, list(source.states(recorded))
    commands = list(recorded_values(recorded, source.commands))
    out = []
    for (start, plan), values in zip(plans, settings, strict=True):
        motion = {
            **_between(system.state.names, states, start, plan.duration),
            **_between(system.control.names, commands, start, plan.duration),
        }
        out.append(Execution(values['open_loop'], plan, motion, _groups(system)))
    return out


def _between(names: list[str], samples: list[Timed], start: int, duration: float) -> Motion:
    """Return the samples of an execution by name; none if there are none."""
    chosen = [(t, x) for stamp, x in samples if 0 <= (t := (stamp - start) * 1e-9) <= duration]
    if not chosen:
        return {}
    times = np.array([t for t, _ in chosen])
    table: Array = np.array([x for _, x in chosen])
    return {name: (times, column) for name, column in zip(names, table.T, strict=True)}


def _groups(system: RollingSystem) -> list[Group]:
    entries = (*system.state.entries, *system.control.entries)
    return [Group(e.name, e.components, e.unit) for e in entries]
