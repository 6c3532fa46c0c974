"""The present state of the plant, listened to only while a goal waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast, TypeAlias

from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.contact.contact_view import StateSource
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.nodes.measurements import Measurements, RobotStates
from rolling_dynamics.scenario import Scenario
from rolling_node_kit.qos import STREAM_POLLED, STREAM_READER
from rolling_node_kit.single_goal_server import Goal, resolve
from sensor_msgs.msg import JointState

Take = Callable[[Array], None]


class OdometryStream:
    """State of an object on a hand, from the odometry of both with equal stamps."""

    topics = 'hand/odometry with object/odometry of equal stamp'

    def __init__(self, scenario: Scenario) -> None:
        """Compile the conversion."""
        system = cast('ContactSystem', scenario.system)
        start = scenario.x0[system.state.slice('contact_h')]
        self._measured = Measurements(StateSource(system, scenario.p, start))

    @property
    def refused(self) -> str:
        """Reason why the last message was rejected."""
        return self._measured.refused

    def subscribe(self, node: Node, take: Take) -> list[Any]:
        """Listen to both, with queues: of only the newest of each, stamps are seldom equal."""

        def came(data: bytes, *, is_hand: bool) -> None:
            if self._measured.take(data, is_hand=is_hand):
                found = self._measured.state()
                if found is not None:
                    take(found[1])

        return [
            node.create_subscription(
                Odometry, topic, partial(came, is_hand=is_hand), STREAM_POLLED, raw=True
            )
            for topic, is_hand in (('hand/odometry', True), ('object/odometry', False))
        ]


class RobotStateStream:
    """State of a rolling robot, by name."""

    topics = 'robot/state'

    def __init__(self, scenario: Scenario) -> None:
        """Take the names from the layout of the state."""
        self._measured = RobotStates(scenario.system.state, self.topics)

    @property
    def refused(self) -> str:
        """Reason why the last message was rejected."""
        return self._measured.refused

    def subscribe(self, node: Node, take: Take) -> list[Any]:
        """Listen."""

        def came(data: bytes) -> None:
            self._measured.take(data)
            if (found := self._measured.state()) is not None:
                take(found[1])

        return [node.create_subscription(JointState, self.topics, came, STREAM_READER, raw=True)]


StateStream: TypeAlias = OdometryStream | RobotStateStream


def state_stream(scenario: Scenario) -> StateStream:
    """Return the topics with the state: odometry of hand and object, or the state of a robot."""
    carries = offers(scenario.system, CarriedObject) is not None
    return OdometryStream(scenario) if carries else RobotStateStream(scenario)


async def present_state(
    node: Node, scenario: Scenario, timeout: float, goal: Goal | None
) -> tuple[Array | None, str]:
    """
    Listen for as long as it takes to get one state.

    Parameters
    ----------
    node
        Who listens.
    scenario
        Whose state.
    timeout
        Greatest time to wait, by a steady clock [s].
    goal
        Whose end ends the waiting; None for no such.

    Returns
    -------
    state
        The state, or None if none came.
    reason
        Why not.

    """
    stream = state_stream(scenario)
    came: Future = Future()

    def take(x: Array) -> None:
        if not came.done():
            came.set_result(x)

    subscriptions = stream.subscribe(node, take)
    timer = node.create_timer(
        timeout, lambda: resolve(node, came, None), clock=Clock(clock_type=ClockType.STEADY_TIME)
    )
    if goal is not None:
        goal.on_stop(lambda: resolve(node, came, None))
    try:
        found = await came
    finally:
        node.destroy_timer(timer)
        for subscription in subscriptions:
            node.destroy_subscription(subscription)
    if found is not None:
        return found, ''
    refused = f' ({stream.refused})' if stream.refused else ''
    return None, (
        f'no {stream.topics} came within {timeout:g} s{refused}; start the plant, or name the '
        'start'
    )
