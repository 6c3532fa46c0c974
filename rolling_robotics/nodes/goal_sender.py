"""Goals from the live viewer to planner and controller, and pushes to the simulator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped, Vector3
from rclpy.action import ActionClient
from rclpy.node import Node
from rclpy.task import Future
from rolling_dynamics.errors import printable
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_node_kit.qos import EVENT
from rolling_robotics.viewer.panel import Report


class GoalSender:
    """Has motions planned and executed, by callbacks: the executor is not for coroutines."""

    def __init__(self, node: Node) -> None:
        """Look for both actions; the node must not be spun by another thread at this moment."""
        self._node = node
        self._planner = ActionClient(node, PlanRolling, 'plan_rolling')
        self._controller = ActionClient(node, ExecutePlan, 'execute_plan')
        self._pushes = node.create_publisher(Vector3, 'simulator/push', EVENT)

    @property
    def is_served(self) -> bool:
        """Whether there is a planner and a controller."""
        return self._planner.server_is_ready() and self._controller.server_is_ready()

    @property
    def is_pushed(self) -> bool:
        """Whether something takes pushes."""
        return self._pushes.get_subscription_count() > 0

    def push(self, x: float, y: float) -> None:
        """Push what rolls: impulse over mass along x and y of the world [m/s]."""
        self._pushes.publish(Vector3(x=x, y=y))

    def plan(self, place: tuple[float, float, float], report: Report) -> None:
        """Have a motion to a place in the world [m] planned."""
        goal = PlanRolling.Goal(waypoints=[PoseStamped()])
        point = goal.waypoints[0].pose.position
        point.x, point.y, point.z = place
        report('planning ...')
        self._send(self._planner, goal, report, _planned)

    def execute(self, report: Report) -> None:
        """Have the newest plan executed."""
        report('executing ...')
        self._send(self._controller, ExecutePlan.Goal(), report, _executed)

    def _send(
        self, client: ActionClient, goal: Any, report: Report, text: Callable[[Any], str]
    ) -> None:
        def answered(future: Future) -> None:
            handle = future.result()
            if handle.accepted:
                handle.get_result_async().add_done_callback(
                    lambda done: report(text(done.result().result))
                )
            else:
                report('refused; the log of the node says why')

        executor = self._node.executor
        if executor is not None:  # in the thread that takes the answer: it must not come before
            executor.create_task(lambda: client.send_goal_async(goal).add_done_callback(answered))


def _planned(result: PlanRolling.Result) -> str:
    if result.error_code != PlanRolling.Result.NONE:
        return f'no plan: {printable(result.error_string)}'
    return f'planned: {result.plan.times[-1]:.3g} s; the ghost shows where it ends'


def _executed(result: ExecutePlan.Result) -> str:
    if result.error_code != ExecutePlan.Result.NONE:
        return f'missed: {printable(result.error_string)}'
    return f'reached, final error {result.final_error:.2g}'
