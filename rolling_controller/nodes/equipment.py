"""Equipment of loops from state to command: machine, watch, age of states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
import time
from typing import Any, Self

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rolling_controller.motion_watch import (
    HandBound,
    MotionWatch,
    Predictor,
    supervision,
    Unwatched,
)
from rolling_controller.nodes.step_log import Begin, RunLog
from rolling_controller.tracker import Tracker
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.overruns import Overruns
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.periodic_loop import PeriodicLoop
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.suite_node import SuiteNode


def stamp_check(node: Node, values: ParameterTable) -> StampCheck:
    """Return the check of stamps against the clock and ``stamp_tolerance`` of a node."""
    return StampCheck(
        lambda: node.get_clock().now().nanoseconds, lambda: values['stamp_tolerance']
    )


class Machine(ABC):
    """
    Topics of the machine: used by one thread at a time.

    Attributes
    ----------
    measured
        The states that came.
    missing
        What to report to a user as long as no state came.
    polled
        The topics that states come from.
    commands
        Publisher of the commands.
    watch
        Supervisor of its states; None for one of the motion that the equations predict.
    sensors
        The sensors that its states come from; none where they are not declared.
    holds_at
        Faults at which the machine is held where it is, see :class:`RobotView`.

    """

    measured: NewestState[Any]
    missing: str
    polled: Sequence[PolledSubscription]
    commands: Publisher
    watch: Unwatched | None = None
    sensors: Sequence[Sensor] = ()
    holds_at: Collection[str] = ()

    @abstractmethod
    def poll(self) -> None:
        """Take what came, where the executor does not."""

    def wait(self, seconds: float) -> None:
        """Wait for what :meth:`poll` takes, at most this long [s]."""
        end = time.monotonic() + seconds
        for topic in self.polled:
            topic.wait(max(end - time.monotonic(), 0.0))

    @abstractmethod
    def send(self, u: Array, stamp: int) -> None:
        """Send a control that is to act at a time [ns]."""

    def await_acknowledgement(self, timeout: float) -> None:
        """Wait until the last command has arrived, at most this time [s]."""
        self.commands.wait_for_all_acked(Duration(seconds=timeout))

    def bound(self, states: Array) -> HandBound | None:  # noqa: ARG002
        """Return the bound on the deviation from planned states; None where there is no hand."""
        return None

    def yaw(self, x: Array) -> float:  # noqa: ARG002
        """Return the angle of its heading about the normal of the floor [rad]."""
        return 0.0

    @abstractmethod
    def safe(self, x: Array) -> Array:
        """Return the control that brings the machine to rest."""


ACK_TIMEOUT = 0.1  # longest wait for the safe command to be acknowledged [s]
LOOK_PERIOD = 0.02  # longest time between two turns in simulated time [s]
GIVE_UP = 0.05  # lateness beyond which turns by the clock are skipped [s]
LATE_IN_SIM_TIME = 5.0  # least age, in wall-clock time, of a state that is too old [s]


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class LoopEquipment:
    """
    Equipment of the loops from state to command, which use it one after another.

    Attributes
    ----------
    machine
        Where states come from and commands go.
    predictor
        The state when a command will act.
    watch
        Supervisor of the plausibility of states.
    start
        State in place of one that never came.
    values
        Parameters of the node by name.
    first_mode
        Mode of plans and laws; empty where there is only one.
    once
        Whether each state is answered once, as in simulated time.
    by_clock
        Whether states come at fixed times even so, as frames of a camera do.
    limit
        Name of the parameter for the age from which a state is too old.
    patient
        Whether a first state is waited for however long it takes.
    warn
        Logs a warning.
    begin
        Starts the log of a run of a law, see :func:`step_log`.

    """

    machine: Machine
    predictor: Predictor | Unwatched
    watch: MotionWatch | Unwatched
    start: Array
    values: ParameterTable
    once: bool
    first_mode: str = ''
    by_clock: bool = False
    limit: str = 'state_timeout'
    patient: bool = False
    warn: Callable[[str], object] = lambda _: None
    begin: Begin = lambda law, _: RunLog(law)

    @classmethod
    def of(
        cls,
        node: SuiteNode,
        machine: Machine,
        system: RollingSystem,
        params: Array,
        start: Array,
        limits: Array | None,
        errors: Array | None = None,
        **more: Any,
    ) -> Self:
        """Return what loops of a node use; errors are those of params, ``more`` attributes."""
        v = node.values
        sensors = () if machine.watch else machine.sensors
        given = system, params, limits, v.__getitem__, start, sensors, errors
        predictor, watch = supervision(*given)
        return cls(
            machine=machine,
            predictor=predictor,
            watch=machine.watch or watch,
            start=start,
            values=v,
            once=node.get_parameter('use_sim_time').value,
            first_mode=next(iter(system.modes)),
            warn=node.get_logger().warning,
            **more,
        )

    @property
    def timeout(self) -> float:
        """Age of states from which on they are too old [s]."""
        # in simulated time the plant waits for commands: a late state is due to a busy machine
        return max(self.values[self.limit], LATE_IN_SIM_TIME if self._lenient else 0.0)

    @property
    def _lenient(self) -> bool:
        return self.once and not self.by_clock

    @property
    def period(self) -> float:
        """Time between two turns of the loop [s], the longest in simulated time."""
        return LOOK_PERIOD if self.once else 1.0 / self.values['rate']

    def loop(
        self, tick: Callable[[], bool], fail: Callable[[str], None], name: str = 'control'
    ) -> PeriodicLoop:
        """
        Return a loop, not yet started; in simulated time it knows no deadlines.

        Parameters
        ----------
        tick
            One iteration; returns whether to continue.
        fail
            Called with the cause that ends the loop: a fault, or too many missed deadlines.
        name
            Name of its thread.

        """
        return PeriodicLoop(
            tick,
            self.period,
            name=name,
            give_up=0.0 if self.once else GIVE_UP,  # looks for a state are not made up for
            on_fault=lambda error: fail(str(error)),
            overruns=None if self.once else Overruns(self.values),
            on_overrun=fail,
            wait=self.machine.wait if self.once else time.sleep,
        )

    def stale_text(self, looked: float = 0.0) -> str:
        """Return why there is no state to work with, looks for one being so far apart [s]."""
        measured = self.machine.measured
        trouble = f' ({measured.trouble})' if measured.trouble else ''
        if not np.isfinite(measured.age):
            return f'{self.machine.missing}{trouble}'
        latest = min(self.machine.polled, key=lambda topic: topic.received)
        why = trouble or f' ({latest.lateness(measured.age, looked)})'
        return f'the newest state is {measured.age:.3f} s old; {self._timeout_text()}{why}'

    def _timeout_text(self) -> str:
        rule = f', at least {LATE_IN_SIM_TIME:g} s in simulated time' if self._lenient else ''
        return f'{self.limit} is {self.values[self.limit]:g} s{rule}'

    @property
    def present(self) -> Array:
        """Newest usable state; the start where none ever came."""
        now = self.machine.measured.state()
        return self.start if now is None else now[1]

    def acts(self, node: Node, stamp: int) -> int:
        """Return when a command acts that is sent now [ns]; in simulated time with its state."""
        return stamp if self.once else node.get_clock().now().nanoseconds + self.predictor.delay

    def bring_to_rest(self, node: Node, bound: HandBound | None = None) -> Array:
        """
        Command the machine to rest; return the newest state.

        Where states are not believed, a hand brakes as its bound has followed it by commands.
        """
        x = self.present
        # in simulated time the plant waits for answers; one without a stamp is the last
        stamp = 0 if self.once else node.get_clock().now().nanoseconds
        self.machine.send(self.machine.safe(bound.followed(x) if bound else x), stamp)
        self.machine.await_acknowledgement(ACK_TIMEOUT)
        return x


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Equipment(LoopEquipment):
    """
    Equipment that executions use, one after another.

    Attributes
    ----------
    tracker
        Errors and margins.

    """

    tracker: Tracker
