"""How late the loops of other nodes were, by their own diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rolling_dynamics.text import printable
from rolling_node_kit.qos import EVENT
from rolling_node_kit.suite_node import MISSED_SHARE
from rolling_robotics.demo.clock import too_late
from rolling_robotics.experiment import RECORDER


class Lateness:
    """
    Listens to ``/diagnostics``.

    Attributes
    ----------
    values
        Newest values by key, by node.

    """

    def __init__(self, node: Node) -> None:
        """Subscribe."""
        self.values: dict[str, dict[str, str]] = {}
        self._worst = 0.0, ''
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take, EVENT)

    def begin(self) -> None:
        """Forget what was."""
        self._worst = 0.0, ''

    @property
    def reason(self) -> str:
        """Why what went on since :meth:`begin` is inconclusive; empty in simulated time."""
        return too_late(*self._worst)

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = printable(status.name)
            values = {entry.key: entry.value for entry in status.values}
            self.values[name] = values
            if name.rpartition('/')[2] == RECORDER.name:  # its loop is none from state to command
                continue
            try:
                share = float(values.get(MISSED_SHARE, '0'))
            except ValueError:
                continue
            self._worst = max(self._worst, (share, name))
