"""How late the loops of other nodes were, by their own diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rolling_dynamics.text import printable
from rolling_node_kit.qos import EVENT
from rolling_node_kit.suite_node import MISSED_SHARE


class Lateness:
    """
    Listens to ``/diagnostics``.

    Attributes
    ----------
    values
        Newest values by key, by node.
    worst
        Greatest share of missed deadlines since :meth:`begin`, and whose it was.

    """

    def __init__(self, node: Node) -> None:
        """Subscribe."""
        self.values: dict[str, dict[str, str]] = {}
        self.worst = 0.0, ''
        node.create_subscription(DiagnosticArray, '/diagnostics', self._take, EVENT)

    def begin(self) -> None:
        """Forget what was."""
        self.worst = 0.0, ''

    def _take(self, message: DiagnosticArray) -> None:
        for status in message.status:
            name = printable(status.name)
            values = {entry.key: entry.value for entry in status.values}
            self.values[name] = values
            try:
                share = float(values.get(MISSED_SHARE, '0'))
            except ValueError:
                continue
            self.worst = max(self.worst, (share, name))
