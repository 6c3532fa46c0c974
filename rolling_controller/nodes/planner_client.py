"""Clients of the planner's action: plans for a pursuit, and motions to poses on ``goal_pose``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future as ResultOf
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
from numpy.typing import ArrayLike
from rclpy.action import ActionClient
from rolling_controller.predictive.pursuit import Answer
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import printable, RollingError
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_node_kit.qos import EVENT
from rolling_node_kit.single_goal_server import send_goal
from rolling_node_kit.suite_node import SuiteNode
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.progress import InfeasibleError


class Replanner:
    """Requests plans from ``plan_rolling``; a new request supersedes an earlier one."""

    def __init__(self, node: SuiteNode) -> None:
        """Look for the action."""
        self._node = node
        self._planner = ActionClient(node, PlanRolling, 'plan_rolling')

    def destroy(self) -> None:
        """Leave the action."""
        self._planner.destroy()

    def ask(self, problem: PlanProblem) -> Answer:
        """
        Have a plan made; return what gives it once it is there, or raises why there is none.

        It is not waited for in the thread of the executor, which takes the answer.

        Limits, weights and tolerance are the planner's.

        Raises
        ------
        RollingError
            Nothing serves ``plan_rolling``.

        """
        if self._node.executor is None or not self._planner.server_is_ready():
            raise RollingError('nothing serves plan_rolling; start the planner')
        came = ResultOf[PlanRolling.Result | None]()
        send_goal(self._node, self._planner, plan_goal(problem), came.set_result)

        def answer(patience: float) -> Plan | None:
            try:
                result = came.result(patience)
            except TimeoutError:
                return None
            if result is None:
                raise RollingError(
                    'plan_rolling rejected the goal; the log of the planner has the reason'
                )
            if result.error_code != PlanRolling.Result.NONE:
                raise InfeasibleError(result.error_string)
            return message_to_plan(result.plan)

        return answer


def plan_goal(problem: PlanProblem) -> PlanRolling.Goal:
    """Return a problem as a goal of the action: start with its controls, goal and duration."""
    state = problem.system.state
    start = dict(zip(state.names, problem.x_start, strict=True)) | dict(problem.start_controls)
    wanted = _scalars(problem.goal, state)
    return PlanRolling.Goal(
        start_names=list(start),
        start_values=[float(v) for v in start.values()],
        goal_names=list(wanted),
        goal_values=list(wanted.values()),
        horizon=problem.horizon,
    )


def _scalars(goal: Mapping[str, ArrayLike | None], state: Layout) -> dict[str, float]:
    """Return a goal by the names of single numbers, without the free ones."""
    out: dict[str, float] = {}
    for name, value in goal.items():
        if value is None:
            continue
        values = np.asarray(value, dtype=float).reshape(-1).tolist()
        names = state.entry(name).components if name in state else (name,)
        out |= dict(zip(names, values, strict=True))
    return out


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
            Moves the goal of the present execution; returns a text about it, None without such an
            execution.

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
        messages, executor = self._node.get_logger(), self._node.executor
        outcome = self._move(pose)
        if outcome is not None:
            self._next = None
            messages.info(f'goal_pose: {outcome}')
            return
        if not self._planner.server_is_ready():
            messages.warning('goal_pose: nothing serves plan_rolling; start the planner')
            self._busy = False  # requests of a planner that is gone will not be answered
            return
        self._next = pose
        if self._busy:
            messages.info('goal_pose: accepted, after the present motion')
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
        messages = self._node.get_logger()
        planned = await _result(self._planner, PlanRolling.Goal(waypoints=[pose]))
        if planned is None or planned.error_code != PlanRolling.Result.NONE:
            reason = 'goals are rejected at present' if planned is None else planned.error_string
            messages.warning(f'goal_pose: no plan: {printable(reason)}')
            return
        messages.info(f'goal_pose: a motion of {planned.plan.times[-1]:.3g} s starts')
        done = await _result(self._controller, ExecutePlan.Goal(plan=planned.plan))
        if done is None or done.error_code != ExecutePlan.Result.NONE:
            reason = 'the controller rejects goals' if done is None else done.error_string
            messages.warning(f'goal_pose: missed: {printable(reason)}')
            return
        messages.info(f'goal_pose: reached, final error {done.final_error:.3g}')


async def _result(client: ActionClient, goal: Any) -> Any:
    """Return the result of a goal, or None if it was rejected."""
    handle = await client.send_goal_async(goal)
    return (await handle.get_result_async()).result if handle.accepted else None
