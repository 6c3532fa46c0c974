"""A subscription that a real-time loop reads itself, instead of being called back."""

from __future__ import annotations

import time
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rolling_node_kit.qos import overridable


class PolledSubscription:
    """
    Messages are taken when the loop wants them; it may wait for one.

    At 1 kHz a callback in the executor's thread costs more than the whole control step, because
    both threads fight for the interpreter; taking a message in the loop costs some microseconds.

    Attributes
    ----------
    topic
        Name of the topic.
    sent, received
        When the newest message was, by the clock of the system [ns]; 0 before the first.

    """

    def __init__(
        self,
        node: Node,
        kind: type,
        topic: str,
        qos: QoSProfile,
        *,
        raw: bool = False,
        overridable_qos: bool = True,
    ) -> None:
        """
        Subscribe.

        Parameters
        ----------
        node
            Node that subscribes; must not be spun by another thread at this moment.
        kind, topic, qos
            Type, name and profile of the topic.
        raw
            Whether messages are left serialized.
        overridable_qos
            Whether parameters of the node override the profile.

        """
        self._kind, self._raw = kind, raw
        self.topic, self.sent, self.received = topic, 0, 0
        self._subscription = node.create_subscription(
            kind,
            topic,
            _never_called,
            qos,
            raw=raw,
            qos_overriding_options=overridable() if overridable_qos else None,
            # an executor that waits for events of a reader is woken by its unread data as well
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        )
        node._subscriptions.remove(self._subscription)  # noqa: SLF001 - hidden from the executor
        self._waiting = rclpy_implementation.WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)

    def take(self, most: int = 64) -> list[Any]:
        """Return the messages that came since the last call, oldest first."""
        return [message for message, _ in self.take_with_info(most)]

    def take_with_info(self, most: int) -> list[tuple[Any, dict[str, Any]]]:
        """Return them with the data of the middleware: time stamps, sequence number."""
        out: list[tuple[Any, dict[str, Any]]] = []
        handle = self._subscription.handle
        with handle:
            while len(out) < most:
                taken = handle.take_message(self._kind, self._raw)
                if taken is None:
                    break
                out.append(taken)
        if out:
            info = out[-1][1]
            self.received = info['received_timestamp'] or time.time_ns()
            self.sent = info['source_timestamp'] or self.received
        return out

    def wait(self, seconds: float) -> None:
        """Wait until there is a message to take, at most this long [s]."""
        handle = self._subscription.handle
        with handle, self._waiting:
            self._waiting.clear_entities()
            self._waiting.add_subscription(handle)
            self._waiting.wait(round(seconds * 1e9))

    def lateness(self, age: float, looked: float) -> str:
        """
        Return a text about the cause of the newest message's delay.

        Parameters
        ----------
        age
            Age of the content of the newest message [s].
        looked
            Time between the last two polls [s].

        """
        silent, transport = (time.time_ns() - self.received) * 1e-9, self.received - self.sent
        if looked > age / 2:
            late = 'this thread'
        else:
            late = 'the transport' if transport * 1e-9 > age / 2 else 'the publisher'
        return (
            f'{late} was late: nothing came on {self.topic} for {silent:.3f} s, the newest '
            f'message took {transport * 1e-6:.1f} ms, and this thread looked '
            f'{looked * 1e3:.1f} ms apart'
        )

    def destroy(self) -> None:
        """Unsubscribe."""
        self._waiting.destroy_when_not_in_use()
        self._subscription.destroy()


def _never_called(_message: Any) -> None:
    """Replace the callback."""
