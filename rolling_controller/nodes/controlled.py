"""Machines that a controller runs, each with its topics, laws, tasks and parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TYPE_CHECKING

from rolling_controller.nodes.control_loop import ControlLoop
from rolling_controller.nodes.equipment import LoopEquipment
from rolling_node_kit.parameters import Parameter
from rolling_node_kit.suite_node import Health, OK

if TYPE_CHECKING:
    from rolling_controller.nodes.controller_node import ControllerNode


class Controlled(ABC):
    """
    A machine as a controller runs it; made when the node is configured.

    Attributes
    ----------
    table
        Parameters of its node.
    stopped
        What ``~/stop`` answers; empty where there is no such service.
    node, values
        The node and its parameters.
    equipment
        What its loops use.
    current
        Whether the node is still configured with it.

    """

    table: ClassVar[Sequence[Parameter]]
    stopped: ClassVar[str] = 'the machine got its safe command'
    equipment: LoopEquipment

    def __init__(self, node: ControllerNode) -> None:
        """Load the scenario; make topics and services."""
        self.node, self.values, self.current = node, node.values, True

    @property
    @abstractmethod
    def control(self) -> ControlLoop | None:
        """The loop that is at work; None where none is."""

    def prepare(self) -> None:  # noqa: B027
        """Plan, design and compile for the first task; called in a thread of its own."""

    def preparing(self, *, busy: bool) -> str:  # noqa: ARG002
        """Return what is waited for before tasks begin, in words; empty if nothing."""
        return ''

    def activate(self) -> None:  # noqa: B027
        """Begin to work."""

    @abstractmethod
    def deactivate(self) -> None:
        """End what is at work, the machine safe; callable twice."""

    def stop(self) -> None:
        """End what is at work, the machine safe, as ``~/stop`` asks."""
        self.deactivate()

    def health(self) -> Health:
        """Return level, message and values of a machine that is configured."""
        return OK, 'waiting', {}
