"""A plan from a file, of a goal or the newest one, executed by nodes that run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from builtin_interfaces.msg import Time
from rolling_dynamics.errors import ParameterError, printable
from rolling_interfaces.action import ExecutePlan, PlanRolling
from rolling_interfaces.msg import RollingPlan
from rolling_planner import Plan
from rolling_planner.nodes.conversions import plan_to_message
from rolling_robotics.console import Progress
from rolling_robotics.files import read_result
from rolling_robotics.nodes.client import Client
from rolling_robotics.trials.trial import MISSED, progress_text, REACHED, say

READY_TIMEOUT = 30.0  # s


def execute(
    file: Path | None, goal: Mapping[str, float], horizon: float, namespace: str, timeout: float
) -> int:
    """
    Have a plan executed and report how it ended.

    Parameters
    ----------
    file
        Result of `rolling plan`; None for the plan of a goal, or the newest of the planner.
    goal
        Values at the end by name of the state, in units of its layout; empty for none.
    horizon
        Duration of the motion to be planned [s]; 0 where the planner finds it.
    namespace
        Of the nodes.
    timeout
        Longest wait for a plan, and for its execution [s].

    Returns
    -------
    int
        0 if the goal was reached, 1 if not.

    Raises
    ------
    RollingError
        The file holds no plan, or the nodes do not answer.

    """
    plan = RollingPlan() if file is None else _plan_in(file)
    with Client(namespace=namespace) as client:
        client.wait_until_served(READY_TIMEOUT, planner=bool(goal))
        if goal:
            with Progress('planning') as progress:
                planned = client.plan(
                    goal, horizon, lambda f: progress.say(progress_text(f).strip()), timeout
                )
            if planned.error_code != PlanRolling.Result.NONE:
                say(f'no plan: {printable(planned.error_string)}')
                return MISSED
            plan = planned.plan
            say(f'planned {plan.times[-1]:.4g} s of motion in {planned.planning_time:.2f} s')
        with Progress('executing') as progress:
            done = client.follow(plan, lambda f: progress.say(_margins_text(f)), timeout)
    reached: bool = done.error_code == ExecutePlan.Result.NONE
    say(
        f'the goal was reached, final error {done.final_error:.3g}'
        if reached
        else f'the goal was missed: {printable(done.error_string)}'
    )
    return REACHED if reached else MISSED


def _plan_in(file: Path) -> RollingPlan:
    """Return the plan of a result file, to start when it is accepted."""
    result = read_result(file)
    if 'plan' not in result:
        raise ParameterError(f'{file}: holds no plan; `rolling plan` writes one')
    return plan_to_message(Plan.from_dict(result['plan']), Time(), 'world')


def _margins_text(feedback: ExecutePlan.Feedback) -> str:
    """Return where an execution is, and the margin that is the least."""
    margins = zip(feedback.margin_values, feedback.margin_names, strict=True)
    least = min(margins, default=None)
    return f'{feedback.time:.2f} s, state error {feedback.state_error:.3g}' + (
        f', least margin {least[1]} {least[0]:.3g}' if least else ''
    )
