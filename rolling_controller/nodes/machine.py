"""What an execution needs of the machine that it controls: states in, commands out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from rclpy.node import Node
from rolling_controller.motion_watch import HandBound, Unwatched
from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario_model import ScenarioModel
from rolling_node_kit.newest_state import StampCheck
from rolling_node_kit.parameters import ParameterTable
from rolling_node_kit.polled_subscription import PolledSubscription


def stamp_check(node: Node, values: ParameterTable) -> StampCheck:
    """Return the check of stamps against the clock and ``stamp_tolerance`` of a node."""
    return StampCheck(
        lambda: node.get_clock().now().nanoseconds, lambda: values['stamp_tolerance']
    )


class States(Protocol):
    """
    The states that came.

    Attributes
    ----------
    count
        Number of usable states that were read.
    restarts
        Number of times that one could not be read, and the reading began again.
    refused
        Why the last bad message was refused; empty once it was reported.
    trouble
        Why the last message was refused, if no usable state came since.
    fault
        Why what follows the states is to end now; empty while nothing is wrong.

    """

    fault: str
    count: int
    restarts: int
    refused: str
    trouble: str

    @property
    def covariances(self) -> Array | None:
        """Covariances declared with the newest state, see ``MotionWatch.judge``."""
        ...

    @property
    def replaced(self) -> bool:
        """Whether a fault is one of a sensor that others replace."""
        ...

    @property
    def age(self) -> float:
        """Age of the newest usable state, by its stamp and by its arrival [s]."""
        ...

    def state(self) -> tuple[int, Array] | None:
        """Return stamp [ns] and value of the newest usable state, or None."""
        ...

    def state_near(self, stamp: int) -> Array | None:
        """Return the state whose stamp is nearest to a time [ns], of the last ones; or None."""
        ...


class Machine(Protocol):
    """Topics of the machine: used by one thread at a time."""

    @property
    def measured(self) -> States:
        """The states that came."""
        ...

    @property
    def missing(self) -> str:
        """What to report to a user as long as no state came."""
        ...

    @property
    def polled(self) -> Sequence[PolledSubscription]:
        """The topics that states come from."""
        ...

    def poll(self) -> None:
        """Take what came, where the executor does not."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait for what :meth:`poll` takes, at most this long [s]."""
        ...

    def send(self, u: Array, stamp: int) -> None:
        """Send a control that is to act at a time [ns]."""
        ...

    def await_acknowledgement(self, timeout: float) -> None:
        """Wait until the last command has arrived, at most this time [s]."""
        ...

    def bound(self, states: Array) -> HandBound | None:
        """Return the bound on the deviation from planned states, None of no hand."""
        ...

    def safe(self, x: Array) -> Array:
        """Return the control that brings the machine to rest."""
        ...


class Equipped(NamedTuple):
    """
    What a scenario describes, and the machine.

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
