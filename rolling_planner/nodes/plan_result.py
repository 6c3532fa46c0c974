"""From what a worker reports to feedback and result of the action ``plan_rolling``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from rolling_interfaces.action import PlanRolling
from rolling_planner.nodes.conversions import plan_to_message
from rolling_planner.workers.worker import CANCELLED, DONE, FAULT, Outcome

CODES = {
    'ParameterError': PlanRolling.Result.INVALID_GOAL,
    'ScenarioError': PlanRolling.Result.INVALID_GOAL,
    'SurfaceError': PlanRolling.Result.INVALID_GOAL,
    'ExpressionError': PlanRolling.Result.INVALID_GOAL,
    'InfeasibleError': PlanRolling.Result.INFEASIBLE,
    'PlanningTimeoutError': PlanRolling.Result.TIMEOUT,
    'NotConvergedError': PlanRolling.Result.NOT_CONVERGED,
}


def feedback_message(progress: Mapping[str, Any]) -> PlanRolling.Feedback:
    """Return the feedback of a progress report; what it does not tell is not a number."""
    unknown = float('nan')
    return PlanRolling.Feedback(
        iteration=int(progress.get('iteration', 0)),
        segments=int(progress.get('segments', 0)),
        cost=float(progress.get('cost', unknown)),
        violation=float(progress.get('violation', unknown)),
        goal_error=float(progress.get('goal_error', unknown)),
    )


def failure(code: int, text: str) -> PlanRolling.Result:
    """Return the result of a goal without a plan."""
    return PlanRolling.Result(error_code=code, error_string=text)


def result_message(outcome: Outcome, frame: str) -> PlanRolling.Result:
    """Return the result of an outcome; the plan starts when it is accepted, in the frame."""
    if outcome.kind == DONE and outcome.value is not None:
        return PlanRolling.Result(plan=plan_to_message(outcome.value['plan'], Time(), frame))
    if outcome.kind == CANCELLED:
        return failure(PlanRolling.Result.CANCELLED, 'cancelled on request')
    if outcome.kind == FAULT:
        return failure(PlanRolling.Result.INTERNAL, f'the planner failed: {outcome.text}')
    return failure(CODES.get(outcome.error, PlanRolling.Result.INFEASIBLE), outcome.text)
