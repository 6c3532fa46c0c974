"""The newest messages of a topic, read when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any

from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.odometry_codec import decode_odometry
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import STREAM_READER
from sensor_msgs.msg import JointState

MOST = 64  # messages at a time
_Read = Callable[[bytes], tuple[int, Sequence[float]]]


def _whole(kind: type, read: Callable[[Any], Sequence[float]]) -> _Read:
    """Return a reader of serialized messages: stamp [ns], and what is kept of one."""

    def reader(data: bytes) -> tuple[int, Sequence[float]]:
        message = deserialize_message(data, kind)
        return time_to_nanoseconds(message.header.stamp), read(message)

    return reader


def _attitude(data: bytes) -> tuple[int, Sequence[float]]:
    stamp, state = decode_odometry(data)
    return stamp, state[:4].tolist()


# what can be watched: type of the messages, and a reader
WATCHABLE: Mapping[str, tuple[type, _Read]] = {
    'joints': (JointState, _whole(JointState, lambda m: list(m.position))),
    'attitude': (Odometry, _attitude),
    'force': (
        WrenchStamped,
        _whole(WrenchStamped, lambda m: (m.wrench.force.x, m.wrench.force.y, m.wrench.force.z)),
    ),
}


class Watch:
    """
    Reads a topic.

    Attributes
    ----------
    topic
        Its name.
    stamp
        Stamp of the newest message that was read [s]; -inf before the first.

    """

    def __init__(self, node: Node, topic: str, kind: str, qos: QoSProfile = STREAM_READER) -> None:
        """Subscribe; what is kept of a message is told by the kind, see :data:`WATCHABLE`."""
        type_, self._read = WATCHABLE[kind]
        self.topic, self.stamp = topic, -math.inf
        self._subscription = PolledSubscription(node, type_, topic, qos, raw=True)

    def poll(self) -> Sequence[float] | None:
        """Return what the newest message says, or None if there is no new one."""
        rows = self.poll_all(1)
        return rows[-1][1] if rows else None

    def poll_all(self, most: int = MOST) -> list[tuple[float, Sequence[float]]]:
        """Return stamps [s] and rows of the newest messages since the last call, in turn."""
        read = [self._read(data) for data in self._subscription.take()[-most:]]
        rows = [(stamp * 1e-9, row) for stamp, row in read]
        if rows:
            self.stamp = rows[-1][0]
        return rows

    def destroy(self) -> None:
        """Unsubscribe."""
        self._subscription.destroy()
