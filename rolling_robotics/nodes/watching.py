"""The newest messages of a topic, read when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.odometry_codec import decode_odometry
from rolling_node_kit.polled_subscription import PolledSubscription
from rolling_node_kit.qos import STREAM_READER
from sensor_msgs.msg import JointState

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
    row
        What it says; None before the first.

    """

    def __init__(self, node: Node, topic: str, kind: str) -> None:
        """Subscribe; what is kept of a message is told by the kind, see :data:`WATCHABLE`."""
        type_, self._read = WATCHABLE[kind]
        self.topic, self.stamp = topic, -math.inf
        self.row: Sequence[float] | None = None
        self._subscription = PolledSubscription(node, type_, topic, STREAM_READER, raw=True)

    def poll(self) -> None:
        """Read the newest message, if there is a new one."""
        data = self._subscription.take()
        if data:
            stamp, self.row = self._read(data[-1])
            self.stamp = stamp * 1e-9

    def destroy(self) -> None:
        """Unsubscribe."""
        self._subscription.destroy()
