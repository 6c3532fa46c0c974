"""From a pose on the topic ``goal_pose`` to a motion: planned, then executed by the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionClient
from rolling_dynamics.text import printable
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_node_kit.qos import EVENT
from rolling_node_kit.suite_node import SuiteNode


class GoalPoses:
    """
    Has what rolls go to the newest pose on ``goal_pose``, as tools of RViz publish it.

    It goes through the actions ``plan_rolling`` and ``execute_plan`` as any client does. A pose
    that comes on the way moves the goal of a law that takes one; else it is taken after the
    motion, the newest of several.
    """

    def __init__(self, node: SuiteNode, move: Callable[[PoseStamped], str | None]) -> None:
        """
        Listen.

        Parameters
        ----------
        node
            The controller.
        move
            Moves the goal of the execution that goes on; returns what to tell of it, None where
            there is no such execution.

        """
        self._node, self._move = node, move
        self._planner = ActionClient(node, PlanRolling, 'plan_rolling')
        self._controller = ActionClient(node, ExecutePlan, 'execute_plan')
        self._next: PoseStamped | None = None
        self._busy = False
        node.reader(PoseStamped, 'goal_pose', self._take, EVENT)

    def destroy(self) -> None:
        """Forget what waits, and leave the actions."""
        self._next = None
        self._planner.destroy()
        self._controller.destroy()

    def _take(self, pose: PoseStamped) -> None:
        tell, executor = self._node.get_logger(), self._node.executor
        told = self._move(pose)
        if told is not None:
            self._next = None
            tell.info(f'goal_pose: {told}')
            return
        if not self._planner.server_is_ready():
            tell.warning('goal_pose: nothing serves plan_rolling; start the planner')
            self._busy = False  # what it had begun will not be answered
            return
        self._next = pose
        if self._busy:
            tell.info('goal_pose: accepted, after the present motion')
        elif executor is not None:
            self._busy = True
            executor.create_task(self._go)

    async def _go(self) -> None:
        """Go to the poses that came, one after the other."""
        try:
            while self._next is not None:
                pose, self._next = self._next, None
                await self._go_to(pose)
        finally:
            self._busy = False

    async def _go_to(self, pose: PoseStamped) -> None:
        tell = self._node.get_logger()
        planned = await _result(self._planner, PlanRolling.Goal(waypoints=[pose]))
        if planned is None or planned.error_code != PlanRolling.Result.NONE:
            reason = 'goals are refused at present' if planned is None else planned.error_string
            tell.warning(f'goal_pose: no plan: {printable(reason)}')
            return
        tell.info(f'goal_pose: a motion of {planned.plan.times[-1]:.3g} s begins')
        done = await _result(self._controller, ExecutePlan.Goal(plan=planned.plan))
        if done is None or done.error_code != ExecutePlan.Result.NONE:
            reason = 'the controller refuses goals' if done is None else done.error_string
            tell.warning(f'goal_pose: missed: {printable(reason)}')
            return
        tell.info(f'goal_pose: reached, final error {done.final_error:.3g}')


async def _result(client: ActionClient, goal: Any) -> Any:
    """Return the result of a goal, or None if it was refused."""
    handle = await client.send_goal_async(goal)
    return (await handle.get_result_async()).result if handle.accepted else None
