"""The present state of the plant, listened to only while a goal waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.contact.contact_view import StateSource
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.nodes.measurements import Measurements, RobotStates
from rolling_dynamics.scenario import Scenario
from rolling_node_kit.qos import STREAM_POLLED, STREAM_READER
from rolling_node_kit.single_goal_server import Goal, resolve
from sensor_msgs.msg import JointState

Take = Callable[[Array], None]


class StateStream:
    """
    State of the plant: of an object on a hand, from the odometry of both, or of a robot, by name.

    Attributes
    ----------
    topics
        Where it comes from, in words.
    measured
        What makes states of the messages.

    """

    def __init__(self, scenario: Scenario) -> None:
        """Compile the conversion, or take the names from the layout of the state."""
        system = scenario.system
        self._sources: list[tuple[type, str, QoSProfile, Callable[[bytes], bool]]]
        self.measured: Measurements | RobotStates
        if offers(system, CarriedObject) is None:
            self.topics = 'robot/state'
            self.measured = robot = RobotStates(system.state, self.topics)
            self._sources = [(JointState, self.topics, STREAM_READER, robot.take)]
            return
        self.topics = 'hand/odometry with object/odometry of equal stamp'
        start = scenario.x0[system.state.slice('contact_h')]
        source = StateSource(cast('ContactSystem', system), scenario.p, start)
        self.measured = both = Measurements(source)
        # with queues: of only the newest of each, stamps are seldom equal
        self._sources = [
            (Odometry, topic, STREAM_POLLED, partial(both.take, is_hand=is_hand))
            for topic, is_hand in (('hand/odometry', True), ('object/odometry', False))
        ]

    def subscribe(self, node: Node, take: Take) -> list[Any]:
        """Listen to all."""

        def came(read: Callable[[bytes], bool], data: bytes) -> None:
            if read(data) and (found := self.measured.state()) is not None:
                take(found[1])

        return [
            node.create_subscription(kind, topic, partial(came, read), qos, raw=True)
            for kind, topic, qos, read in self._sources
        ]


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
    stream = StateStream(scenario)
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
    refused = f' ({stream.measured.refused})' if stream.measured.refused else ''
    return None, (
        f'no {stream.topics} came within {timeout:g} s{refused}; start the plant, or name the '
        'start'
    )
