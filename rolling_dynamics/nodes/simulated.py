"""Machines that a simulator runs, each with its topics, commands and parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, TYPE_CHECKING

from builtin_interfaces.msg import Time
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.simulation.emulation import EmulatedMachine
from rolling_node_kit.parameters import (
    CONTACT_RATE,
    fixed,
    LOCKSTEP_TIMEOUT,
    MARKER_RATE,
    OVERRUN,
    Parameter,
    RATE_FACTOR,
    SCENARIO,
    TF_RATE,
)
from rolling_node_kit.suite_node import Health, OK

if TYPE_CHECKING:
    from rolling_dynamics.nodes.simulator_node import SimulatorNode


Slow = Sequence[tuple[str, Callable[[Any, Time], None]]]


class PublishedTopics(Protocol):
    """
    The topics that show a machine.

    Attributes
    ----------
    slow
        What is published at a lower rate: the parameter of the rate and a function of the
        observation and the stamp. Each is due in a tick of its own.

    """

    slow: Slow

    def state(self, observed: Any, stamp: int) -> None:
        """Publish the state at a time [ns]; the fast part."""

    def contact_state(self, observed: Any, stamp: Time) -> None:
        """Publish mode and margins of the contact, which has changed."""

    def forget(self) -> None:
        """Start a new path."""


class Simulated(Protocol):
    """
    A machine as a simulator runs it; made when the node is configured.

    Attributes
    ----------
    table, body
        Parameters of its node, and what a command moves, for messages to people.
    title
        Title of its scenario.
    plant, topics
        The emulated machine at its start, and the topics that show it.
    sensors
        Sensors whose measurements are published.
    command, raw
        Type and name of the commands; whether they are read as bytes.

    """

    table: ClassVar[Sequence[Parameter]]
    body: ClassVar[str]
    raw: ClassVar[bool] = False
    title: str
    plant: EmulatedMachine[Any]
    topics: PublishedTopics
    sensors: Sequence[Sensor] = ()
    command: tuple[type, str]

    @abstractmethod
    def __init__(self, node: SimulatorNode) -> None:
        """Load the scenario; make the machine and its topics."""

    @abstractmethod
    def read(self, message: Any) -> tuple[int, Any]:
        """Return stamp [ns] and content of a command, or raise RollingError: why it is refused."""

    def obey(self, stamp: int, command: Any) -> Array | None:  # noqa: ARG002
        """Return the control of a command; None where a drive has taken it."""
        return command

    def prepare(self) -> None:
        """Get ready for a step."""

    def place(self, stamp: int) -> None:
        """Get ready for a reset at a time [ns]."""

    def health(self) -> Health:
        """Return level, message and values of a machine that runs."""
        return OK, 'rolling', {}


# long: a table
def plant_parameters(body: str, rate: float) -> tuple[Parameter, ...]:
    """Return the parameters of every simulator; ``body`` is what a command moves."""
    return (
        SCENARIO,
        fixed(
            'rate',
            rate,
            'simulation rate and publication rate of the states',
            limits=(50.0, 2000.0),
            unit='Hz',
        ),
        CONTACT_RATE,
        TF_RATE,
        MARKER_RATE,
        RATE_FACTOR,
        Parameter(
            'command_timeout',
            0.05,
            f'age of a command beyond which the {body} is braked',
            limits=(0.002, 5.0),
            unit='s',
        ),
        LOCKSTEP_TIMEOUT,
        *OVERRUN,
        fixed(
            'brake_time',
            0.1,
            f'time constant of braking while the {body} has no command',
            limits=(0.01, 5.0),
            unit='s',
        ),
        fixed(
            'frame_prefix',
            '',
            'prefix of the frames, so that the frames of two robots differ; not of `world`',
        ),
    )


def perturbation_parameters(shift: str, turn: str) -> tuple[Parameter, Parameter]:
    """Return how far off the start ``~/reset`` puts the plant; both texts say what is moved."""
    return (
        Parameter(
            'perturbation_position', [0.0, 0.0], shift, limits=(-10.0, 10.0), length=2, unit='m'
        ),
        Parameter(
            'perturbation_rotation',
            [0.0, 0.0, 0.0],
            turn,
            limits=(-3.2, 3.2),
            length=3,
            unit='rad',
        ),
    )
