"""
Replay of a recorded experiment: the same states through the same feedback, in one process.

In simulated time each state is answered once, by a command with its stamp, so a replay finds the
commands again bit by bit. Everything that the controller used is in the recording: the states, the
plan as it was executed with the time of its start, and the parameters in force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rolling_controller.law import Following, OpenLoop
from rolling_controller.nodes.controller_parameters import TABLE as HAND_TABLE
from rolling_controller.nodes.design import design_law, WEIGHTS
from rolling_controller.nodes.robot_controller_node import Options
from rolling_controller.nodes.robot_parameters import TABLE as ROBOT_TABLE
from rolling_controller.nodes.robot_states import RobotStates
from rolling_controller.plan_fit import check_states_fit
from rolling_controller.robot_laws import robot_kind
from rolling_dynamics.contact.state_source import StateSource
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.measurements import Measurements
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario_model import load_model, load_robot
from rolling_node_kit.conversions import NANOSECONDS
from rolling_node_kit.parameters import Parameter
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan
from rolling_robotics.nodes.recorded import Recorded

Array = NDArray[np.float64]
SETTINGS, PLAN = 'execution/settings', 'execution/plan'


class Source(Protocol):
    """A stream of states: ``measured`` takes them, ``take`` one message of a topic."""

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of states."""
        ...

    @property
    def commands(self) -> str:
        """Topic of commands."""
        ...

    def take(self, topic: str, data: bytes) -> tuple[int, Array] | None:
        """Return stamp [ns] and state if a message completed one."""
        ...

    def command(self, message: Any) -> tuple[int, Array]:
        """Return stamp [ns] and control of a recorded command."""
        ...

    def follow(self, plan: Plan, settings: Mapping[str, Any]) -> Following:
        """Return the feedback along a plan."""
        ...

    @property
    def limits(self) -> Array | None:
        """Greatest magnitude of each control."""
        ...


class HandSource:
    """The object on a hand: two streams of odometry, accelerations of the hand."""

    topics = ('hand/odometry', 'object/odometry')
    commands = 'hand/accel_command'

    def __init__(self, scenario_file: str) -> None:
        """Load the model."""
        self._model = load_model(scenario_file)
        state = self._model.system.state
        self._measured = Measurements(
            StateSource(
                self._model.system,
                self._model.params,
                self._model.start[state.slice('contact_h')],
            )
        )

    def take(self, topic: str, data: bytes) -> tuple[int, Array] | None:
        """See :class:`Source`."""
        if not self._measured.take(data, is_hand=topic == 'hand/odometry'):
            return None
        return self._measured.state()

    def command(self, message: Any) -> tuple[int, Array]:
        """See :class:`Source`."""
        accel = message.accel
        parts = (accel.angular, accel.linear)
        return _stamp(message), np.array([getattr(v, a) for v in parts for a in 'xyz'])

    def follow(self, plan: Plan, settings: Mapping[str, Any]) -> Following:
        """See :class:`Source`."""
        weights = {entry.name: settings[entry.name] for entry in WEIGHTS}
        return design_law(self._model, plan, None if settings['open_loop'] else weights)

    @property
    def limits(self) -> Array | None:
        """See :class:`Source`."""
        return self._model.control_limits


class RobotSource:
    """A rolling robot: its whole state, its control."""

    topics = ('robot/state',)
    commands = 'robot/control'

    def __init__(self, scenario_file: str) -> None:
        """Load the model."""
        self._model = load_robot(scenario_file)
        self._states = RobotStates(self._model.system.state, 'robot/state')

    def take(self, topic: str, data: bytes) -> tuple[int, Array] | None:  # noqa: ARG002
        """See :class:`Source`."""
        count = self._states.count
        self._states.take(data)
        return self._states.state() if self._states.count > count else None

    def command(self, message: Any) -> tuple[int, Array]:
        """See :class:`Source`."""
        return _stamp(message), np.array(message.effort, dtype=float)

    def follow(self, plan: Plan, settings: Mapping[str, Any]) -> Following:
        """See :class:`Source`."""
        check_states_fit(plan, self._model.system)
        if settings['open_loop']:
            return Following(OpenLoop(plan), plan.times, plan.states)
        kind = robot_kind(self._model.system.name)
        return kind.make(self._model.scenario, Options(settings, kind)).follow(plan)

    @property
    def limits(self) -> Array | None:
        """See :class:`Source`."""
        return self._model.control_limits


@dataclass
class Replayed:
    """
    One execution, replayed.

    Attributes
    ----------
    open_loop
        Whether the plan was played back without feedback.
    duration
        Of the plan [s].
    times
        In the plan, of the commands that were found [s].
    recorded, replayed
        The commands, shape (N, m) each.

    """

    open_loop: bool
    duration: float
    times: list[float] = field(default_factory=list)
    recorded: list[Array] = field(default_factory=list)
    replayed: list[Array] = field(default_factory=list)

    @property
    def equal(self) -> int:
        """Number of commands that are equal bit by bit."""
        pairs = zip(self.recorded, self.replayed, strict=True)
        return sum(a.tobytes() == b.tobytes() for a, b in pairs)

    @property
    def difference(self) -> float:
        """Greatest difference of a component."""
        pairs = zip(self.recorded, self.replayed, strict=True)
        return max((float(np.abs(a - b).max()) for a, b in pairs), default=0.0)


def replay(recorded: Recorded, say: Callable[[str], None] = lambda _: None) -> list[Replayed]:
    """
    Return every execution of a recording, computed anew.

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
            f'{recorded.path}: was made by the clock, where a command depends on the moment of '
            'its computation; only an experiment in simulated time is replayed bit by bit'
        )
    source = source_of(settings[0]['scenario_file'])
    runs: list[_Run] = []
    for (start, plan), values in zip(plans, settings, strict=True):
        say(f'execution {len(runs) + 1} of {len(plans)}: feedback')
        runs.append(_Run(start, plan, source.follow(plan, values), values['open_loop']))
    say('commands')
    commands = dict(source.command(m) for _, _, m in recorded.messages([source.commands]))
    for topic, _, data in recorded.raw(source.topics):
        state = source.take(topic, data)
        found = commands.get(state[0]) if state is not None else None
        if state is not None and found is not None:
            _answer(runs, *state, found, source.limits)
    return [run.replayed for run in runs]


def executed_plans(recorded: Recorded) -> tuple[list[dict[str, Any]], list[tuple[int, Plan]]]:
    """
    Return the parameters in force and (time of the start [ns], plan) of each execution.

    Raises
    ------
    ParameterError
        Nothing was executed while it was recorded, or a plan is none.

    """
    settings = recorded.settings(SETTINGS, _table(recorded))
    plans = [m for _, _, m in recorded.messages([PLAN])]
    if not plans:
        raise ParameterError(
            f'{recorded.path}: holds no {PLAN}, nothing was executed while it was recorded'
        )
    settings = settings[: len(plans)] if len(settings) >= len(plans) else []
    if not settings:
        raise ParameterError(f'{recorded.path}: holds no {SETTINGS} for each {PLAN}')
    return settings, [(_stamp(m), message_to_plan(m)) for m in plans]


def _table(recorded: Recorded) -> tuple[Parameter, ...]:
    """Return the parameters of the controller that was recorded."""
    return ROBOT_TABLE if recorded.topic('robot/state') else HAND_TABLE


class _Run:
    """An execution: when it began [ns], what it followed."""

    def __init__(self, start: int, plan: Plan, following: Following, open_loop: bool) -> None:
        self.start, self.following = start, following
        self.replayed = Replayed(open_loop, float(plan.times[-1]))

    def time(self, stamp: int) -> float:
        """Return the time in the plan, by the controller's own arithmetic."""
        return (stamp - self.start) * 1e-9


def _answer(runs: list[_Run], stamp: int, x: Array, recorded: Array, limits: Array | None) -> None:
    """Answer a state as the execution that was under way did."""
    for run in runs:
        t = run.time(stamp)
        if not 0 <= t < run.replayed.duration:
            continue
        u = run.following.law.command(t, x)
        if limits is not None:
            u = np.minimum(np.maximum(u, -limits), limits)
        run.replayed.times.append(t)
        run.replayed.recorded.append(recorded)
        run.replayed.replayed.append(np.array(u, dtype=float))


def source_of(scenario_file: str) -> Source:
    """Return the reader of the states and commands of a scenario's system."""
    kind = load_scenario(scenario_file).system.name
    return HandSource(scenario_file) if kind == 'contact' else RobotSource(scenario_file)


def _stamp(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
