"""Interface of an execution to the machine that it controls: states in, commands out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
import time
from typing import Any, NamedTuple

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rolling_controller.motion_watch import HandBound, Unwatched
from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario_model import ScenarioModel
from rolling_node_kit.newest_state import NewestState, StampCheck
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.polled_subscription import PolledSubscription


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

    """

    measured: NewestState[Any]
    missing: str
    polled: Sequence[PolledSubscription]
    commands: Publisher

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

    @abstractmethod
    def safe(self, x: Array) -> Array:
        """Return the control that brings the machine to rest."""


class Equipped(NamedTuple):
    """
    Scenario and machine.

    Attributes
    ----------
    model, machine
        Model and machine.
    watch
        Supervisor of its states; None for one of the motion that the equations predict.
    holds_at
        Faults at which the machine is held where it is, see :class:`RobotView`.
    yaw
        Asked for the angle of its heading about the normal of the floor [rad].

    """

    model: ScenarioModel
    machine: Machine
    watch: Unwatched | None = None
    holds_at: Collection[str] = ()
    yaw: Callable[[], float] = lambda: 0.0
