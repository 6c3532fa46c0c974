"""
The loop from state to command: it runs a law on a machine once, until something ends it.

Whatever ends it, the last command is the safe one, or a law continues to hold the machine. A
machine has topics, laws, tasks and parameters of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
import math
import threading
from typing import Any, ClassVar

import numpy as np
from rclpy.node import Node
from rolling_controller.answers import Answers
from rolling_controller.law import gathered, Law, sources_of, STATE
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_controller.nodes.intake import Intake
from rolling_controller.nodes.step_log import step_log
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_interfaces.action import ExecutePlan
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.suite_node import Health, OK, SuiteNode
from rolling_planner.plan import Plan

HELD = 2  # answers after which plant and controller surely take turns
CODES = ExecutePlan.Result
LOST_MODES = RollingContact.MODE_SEPARATED, RollingContact.MODE_SLIPPING


@dataclass(eq=False, kw_only=True, slots=True)
class Task:
    """
    Task of a loop: its law, its start and end, and the checks on the way.

    Attributes
    ----------
    law
        The law.
    name
        Name of the thread.
    about
        Values from which a replay creates the law again, see :data:`step_log.RUN`.
    signals
        Functions that return the inputs of the law other than state and mode, by name.
    measured
        Name of the input that holds the states.
    memory
        Memory of the law before a break; None at its first start.
    limits
        Maximum magnitude of each control; None for the law's own.
    lost_modes
        Modes of the contact that end it; without any, states in flight are used unchanged.
    start
        Time of the start [ns]: the stamp of the first state where 0.
    origin
        Time [ns] at which the law's time is zero; the start where None.
    waits
        Whether, in simulated time, the machine is held for some states before the start.
    before
        Law that holds the machine until the start; None for the safe command.
    duration
        Function that returns its duration [s].
    on_start
        Called with the time of the start [ns].
    judge
        ``(t, x, u) -> (code, reason, u)``: code and reason of an ending, and the control; the
        reason is empty where the run continues.
    conclude
        Ends it at a time [ns], after its duration.
    finish
        Brings the machine to rest, or lets a law hold it; called with code and reason of the
        ending.
    failed
        Called with a text where ``finish`` failed, so that nobody waits for the end.

    """

    law: Law[Any]
    finish: Callable[[int, str], None]
    name: str = 'control'
    about: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Callable[[], Array]] | None = None
    measured: str = STATE
    memory: Any = None
    limits: Array | None = None
    lost_modes: tuple[str, ...] = LOST_MODES
    start: int = 0
    origin: int | None = None
    waits: bool = True
    before: Law[Any] | None = None
    duration: Callable[[], float] = lambda: math.inf
    on_start: Callable[[int], None] = lambda _: None
    judge: Callable[[float, Array, Array], tuple[int, str, Array]] = lambda _t, _x, u: (0, '', u)
    conclude: Callable[[int], None] = lambda _: None
    failed: Callable[[str], None] = lambda _: None


class ControlLoop:
    """
    Runs a task in a thread of its own until something ends it.

    Attributes
    ----------
    answers
        The commands of its law.
    contact_mode
        Mode of the contact as last reported.
    started
        Time of the start [ns]; None before.
    time
        Since then, of the newest state [s].
    measured
        The newest state.
    ending
        Whether it ends or has ended.
    fault
        Why states are no longer believed; empty while they are.
    intake
        The states that it answers.
    loop
        Its thread.

    """

    def __init__(self, node: Node, equipment: LoopEquipment, task: Task) -> None:
        """Prepare; :attr:`loop` starts it."""
        self._node, self._equipment, self._task = node, equipment, task
        self.answers = Answers(
            task.law,
            equipment.predictor,
            equipment.watch,
            limits=task.limits,
            signals=task.signals,
            measured=task.measured,
            before=task.memory,
        )
        self.contact_mode, self.fault = '', ''
        self.started: int | None = None
        self.time, self.measured = 0.0, equipment.start
        self._turn, self._once = threading.Lock(), threading.Lock()
        self.ending = False
        self._waiting = None if task.before is None else task.before.start()
        # plant and controller take turns already where the machine was held
        self._held = 0 if task.waits and task.before is None else HELD
        self.intake, self._log = Intake(equipment), equipment.begin(task.law, task.about)
        self.loop = equipment.loop(
            self.tick, lambda text: self.end(CODES.INTERNAL, text), task.name
        )

    def end(self, code: int, reason: str) -> None:
        """End once: stop the loop, and finish the task; wait where it ends in another thread."""
        with self._once:
            before, self.ending = self.ending, True
        self.loop.stop()
        if before:
            return
        self._log.flush()
        try:
            self._task.finish(code, reason)
        except Exception as error:  # noqa: BLE001 (reported)
            text = f'what ends {self._task.name} failed: {error!r}'
            self._node.get_logger().error(text)
            self._task.failed(text)

    def distrust(self, reason: str) -> None:
        """End for a state or a motion that is not plausible."""
        self.fault = reason
        self.end(CODES.STALE_STATE, f'states are not plausible: {reason}')

    def tick(self) -> bool:
        """Answer the newest state; return whether to continue."""
        with self._turn:
            if self.ending:
                return False
            now, fault = self.intake.take(), self._equipment.machine.measured.fault
            if fault:
                self.distrust(fault)
            elif self.intake.stale:
                self.end(CODES.STALE_STATE, self.intake.stale)
            elif now is not None:
                self._answer(*now)
            return not self.ending

    def _answer(self, stamp: int, x: Array) -> None:
        task, equipment, self.measured = self._task, self._equipment, x
        if self.started is None:
            if equipment.once and self._held < HELD:
                self._wait(stamp, x)
                return
            self._begin(task.start or stamp)
        self.time = (stamp - (self.started or 0)) * 1e-9
        if self.time >= (duration := task.duration()):
            task.conclude((self.started or 0) + round(duration * 1e9))
            return
        if self._is_lost():
            text = f'the contact was lost at {self.time:.3f} s: it is {self.contact_mode}'
            self.end(CODES.CONTACT_LOST, text)
            return
        touching = bool(task.lost_modes) or self.contact_mode != RollingContact.MODE_SEPARATED
        acts = equipment.acts(self._node, stamp)
        declared = equipment.machine.measured.covariances
        at, x = self.answers.acting_state(stamp, x, acts, touching=touching, covariances=declared)
        if self.answers.fault:
            self.distrust(self.answers.fault)
        elif at < (self.started or 0):
            if equipment.once or task.before:
                self._wait(at, x)
        else:
            self._command(at, x, touching=touching)

    def _is_lost(self) -> bool:
        """
        Return whether a contact was lost.

        Modes of several contacts are named by those that do not roll. Contacts open in the first
        mode, such as with a wall, were not lost.
        """
        first, mode = self._equipment.first_mode, self.contact_mode
        return mode != first and mode.startswith(self._task.lost_modes)

    def _begin(self, start: int) -> None:
        task = self._task
        self.started = start
        self.answers.started = self._equipment.predictor.origin = (
            start if task.origin is None else task.origin
        )
        task.on_start(start)

    def _command(self, at: int, x: Array, *, touching: bool) -> None:
        u, t = self.answers.command(at, x, touching=touching), self.answers.time(at)
        self._log.note(at, t, self.answers.given, u)
        if not np.isfinite(u).all():
            raise SimulationError('the law gave no finite control')
        code, problem, u = self._task.judge(t, x, u)
        if problem:
            self.end(code, problem)
        self._send(self.answers.sent(at, u), at)

    def _send(self, u: Array, at: int) -> None:
        """Send a command, but not after the start of the end."""
        with self._once:
            if not self.ending:
                self._equipment.machine.send(u, at)

    def _wait(self, at: int, x: Array) -> None:
        """Command the machine before the start; in simulated time it waits from now on."""
        self._held += 1
        task, machine = self._task, self._equipment.machine
        if (before := task.before) is None:
            u = machine.safe(x)
        else:
            own = {name: ask() for name, ask in sources_of(before).items()}
            given = gathered(before.inputs, {task.measured: x, **own})
            self._waiting, u = before.step(self._waiting, given, at * 1e-9)
            self._log.note(at, at * 1e-9, given, u, before=True)
        self._send(u, at)


class Controlled(ABC):
    """
    A machine that a controller runs; created when the node is configured.

    Attributes
    ----------
    table
        Parameters of its node.
    settings
        Topic of the parameters in force at each run.
    stopped
        Answer of ``~/stop``; empty where there is no such service.
    node, values
        The node and its parameters.
    begin
        Starts the log of a run, see :func:`step_log`.
    equipment
        Equipment of its loops.
    current
        Whether the node is still configured with it.

    """

    table: ClassVar[Sequence[Parameter]]
    settings: ClassVar[str] = '~/settings'
    stopped: ClassVar[str] = 'the machine got its safe command'
    equipment: LoopEquipment

    @classmethod
    def parameters(cls, system: str) -> Sequence[Parameter]:  # noqa: ARG003
        """Return the parameters of its node for a kind of system."""
        return cls.table

    def __init__(self, node: SuiteNode) -> None:
        """Load the scenario; make topics and services."""
        self.node, self.values, self.current = node, node.values, True
        self.begin = step_log(node, self.settings)

    @classmethod
    def law_of(
        cls,
        values: Mapping[str, Any],  # noqa: ARG003
        plan: Plan | None,  # noqa: ARG003
    ) -> tuple[Law[Any], Array | None]:
        """
        Return the law of a recorded run, and the maximum magnitude of each control.

        Parameters
        ----------
        values
            The parameters in force, with those of :data:`step_log.RUN`.
        plan
            The plan that was executed last; None where none was.

        Raises
        ------
        ParameterError
            The law cannot be created again.

        """
        raise ParameterError(f'{cls.__name__} does not create its laws for a replay')

    @property
    @abstractmethod
    def control(self) -> ControlLoop | None:
        """The loop that is at work; None where none is."""

    def prepare(self) -> None:  # noqa: B027
        """Plan, design and compile for the first task; called in a thread of its own."""

    def preparing(self, *, busy: bool) -> str:  # noqa: ARG002
        """Return a text about what tasks still wait for; empty if nothing."""
        return ''

    def activate(self) -> None:  # noqa: B027
        """Start work."""

    @abstractmethod
    def deactivate(self) -> None:
        """End the present task, the machine safe; callable twice."""

    def stop(self) -> None:
        """End the present task, the machine safe, on a request to ``~/stop``."""
        self.deactivate()

    def health(self) -> Health:
        """Return level, message and values of a machine that is configured."""
        return OK, 'waiting', {}
