"""Plans for a pursuit from the planner's action, asked for by a thread that does not wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future as ResultOf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rclpy.action import ActionClient
from rclpy.task import Future
from rolling_controller.predictive.pursuit import Answer
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import RollingError
from rolling_interfaces.action import PlanRolling
from rolling_node_kit.suite_node import SuiteNode
from rolling_planner.errors import InfeasibleError
from rolling_planner.nodes.conversions import message_to_plan
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem


class Replanner:
    """Has plans made by ``plan_rolling``; what an earlier one still asks for is superseded."""

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

        Limits, weights and tolerance are those of the planner.

        Raises
        ------
        RollingError
            Nothing serves ``plan_rolling``.

        """
        executor = self._node.executor
        if executor is None or not self._planner.server_is_ready():
            raise RollingError('nothing serves plan_rolling; start the planner')
        goal, came = plan_goal(problem), ResultOf[PlanRolling.Result | None]()
        executor.create_task(lambda: self._send(goal, came.set_result))

        def answer(patience: float) -> Plan | None:
            try:
                result = came.result(patience)
            except TimeoutError:
                return None
            if result is None:
                raise RollingError(
                    'plan_rolling refused the goal; the log of the planner says why'
                )
            if result.error_code != PlanRolling.Result.NONE:
                raise InfeasibleError(result.error_string)
            return message_to_plan(result.plan)

        return answer

    def _send(self, goal: PlanRolling.Goal, give: Callable[[Any], None]) -> None:
        def accepted(future: Future) -> None:
            handle = future.result()
            if handle.accepted:
                handle.get_result_async().add_done_callback(lambda f: give(f.result().result))
            else:
                give(None)

        self._planner.send_goal_async(goal).add_done_callback(accepted)


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
    """Return a goal by the names of single numbers, without what is free."""
    out: dict[str, float] = {}
    for name, value in goal.items():
        if value is None:
            continue
        values = np.asarray(value, dtype=float).reshape(-1).tolist()
        names = state.entry(name).components if name in state else (name,)
        out |= dict(zip(names, values, strict=True))
    return out
