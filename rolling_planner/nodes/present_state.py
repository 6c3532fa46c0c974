"""The present state of the plant, listened to only while a goal waits for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from rolling_dynamics.arrays import Array
from rolling_dynamics.nodes.measurements import PlantStates, states_of
from rolling_dynamics.scenario import Scenario
from rolling_node_kit.qos import STREAM_POLLED, STREAM_READER
from rolling_node_kit.single_goal_server import Goal, resolve


def subscribe(node: Node, states: PlantStates[Any], take: Callable[[Array], None]) -> list[Any]:
    """Have each state that comes taken; return the subscriptions."""

    def came(topic: str, data: bytes) -> None:
        if states.take(data, topic) and (found := states.state()) is not None:
            take(found[1])

    # with queues where there are two: of only the newest of each, stamps are seldom equal
    qos = STREAM_POLLED if len(states.topics) > 1 else STREAM_READER
    return [
        node.create_subscription(kind, topic, partial(came, topic), qos, raw=True)
        for topic, kind in states.topics.items()
    ]


async def present_state(
    node: Node, scenario: Scenario, timeout: float, goal: Goal | None
) -> tuple[Array | None, str]:
    """
    Subscribe until one state arrives.

    Parameters
    ----------
    node
        Node that subscribes.
    scenario
        Scenario whose state is awaited.
    timeout
        Maximum time to wait, by a steady clock [s].
    goal
        Goal whose end ends the wait, or None.

    Returns
    -------
    state
        The state, or None if none came.
    reason
        Reason why there is no state.

    """
    states = states_of(scenario.system, scenario.p, scenario.x0)
    came: Future = Future()

    def take(x: Array) -> None:
        if not came.done():
            came.set_result(x)

    subscriptions = subscribe(node, states, take)
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
    refused = f' ({states.refused})' if states.refused else ''
    return None, (
        f'no {states.text} came within {timeout:g} s{refused}; start the plant, or name the start'
    )
