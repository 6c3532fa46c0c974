"""A client that moves the set point of a ball balancer, and watches the ball."""

from __future__ import annotations

import math
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.qos import EVENT, LATCHED, RECORDER
from rolling_robotics.nodes.demo_client import DemoClient
from rolling_robotics.nodes.watching import Watch


class SetPointClient(DemoClient):
    """
    Publishes `goal_pose`, and watches the time of the plant.

    Attributes
    ----------
    set_points
        Stamps [s] and places (2) [m] that the controller told of, in turn.
    time, ball
        Stamp of the newest state of the plant [s], -inf before the first; and where the ball was
        on the plate (2) [m].

    """

    def __init__(self, **options: Any) -> None:
        """Start a node; ``options`` go to :class:`DemoClient`."""
        self.set_points: list[tuple[float, Array]] = []
        self.time, self.ball = -math.inf, np.full(2, math.nan)
        super().__init__(watched={}, **options)

    def equip(self) -> None:
        """Create the topics."""
        self._watches = [Watch(self._node, 'robot/state', 'joints', RECORDER)]
        self._goals = self._node.create_publisher(PoseStamped, 'goal_pose', EVENT)
        self._node.create_subscription(PoseStamped, 'set_point', self._take, LATCHED)

    def _look(self, watch: Watch) -> None:
        for stamp, row in watch.poll_all():
            self.time, self.ball = stamp, np.array(row[:2])

    def _take(self, message: PoseStamped) -> None:
        place = np.array([message.pose.position.x, message.pose.position.y])
        self.set_points.append((time_to_nanoseconds(message.header.stamp) * 1e-9, place))

    def wait_until_balancing(self, timeout: float) -> None:
        """Wait until the plant is seen and the controller has told its first set point."""
        self._wait('the plant did not come up', lambda: math.isfinite(self.time), timeout)
        self._wait('the controller did not come up', lambda: bool(self.set_points), timeout)

    def judge(self) -> None:
        """
        Let what goes on from now on count.

        A node tells the share of its deadlines within the last second: that much after the nodes
        came up, which takes all processors, it is not of what is judged.
        """
        self._lateness.begin()

    def go_to(self, place: Array, until: float, timeout: float) -> None:
        """
        Publish a set point and wait.

        Parameters
        ----------
        place
            On the plate (2) [m].
        until
            Stamp of the plant to wait for [s].
        timeout
            Longest wait for the controller, and for the stamp [s].

        """
        message = PoseStamped()
        message.pose.position.x, message.pose.position.y = place.tolist()
        self._goals.publish(message)

        def taken() -> bool:
            return np.array_equal(self.set_points[-1][1], place)

        self._wait(f'the controller did not take {place}', taken, timeout)
        self._wait(f'the plant did not come to {until:.3g} s', lambda: self.time > until, timeout)

    def wait_near(self, place: Array, within: float, until: float, timeout: float) -> None:
        """Wait until the ball is within so many metres of a place (2) [m], or until a stamp."""

        def done() -> bool:
            return self.time > until or float(np.hypot(*(self.ball - place))) < within

        self._wait(f'the plant did not come to {until:.3g} s', done, timeout)

    @property
    def void(self) -> str:
        """Why what went on since :meth:`judge` proves nothing; empty in simulated time."""
        return self._lateness.void
