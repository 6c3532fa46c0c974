"""Plans as topics and as results of an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from builtin_interfaces.msg import Time
from nav_msgs.msg import Path
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.qos import LATCHED
from rolling_node_kit.suite_node import SuiteNode
from rolling_planner.nodes.conversions import path_message, plan_to_message, trajectory_message
from rolling_planner.workers.worker import CANCELLED, DONE, FAULT, Outcome
from trajectory_msgs.msg import MultiDOFJointTrajectory

PATH, NEWEST = 'plan/object_path', 'plan/newest'


class PlanTopics:
    """The newest plan, the motion of each of its bodies, and the path of the object."""

    def __init__(self, node: SuiteNode, frame: str, bodies: tuple[str, ...]) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Who publishes.
        frame
            Frame of the poses.
        bodies
            Names of the bodies of the system.

        """
        self._frame = frame
        kinds = {f'plan/{name}': MultiDOFJointTrajectory for name in bodies}
        kinds |= {PATH: Path, NEWEST: RollingPlan}
        self._publishers = {name: node.writer(kind, name, LATCHED) for name, kind in kinds.items()}

    def publish(
        self, plan: RollingPlan, bodies: Mapping[str, Mapping[str, Any]], stamp: Time
    ) -> None:
        """Publish a plan, and the motion of its bodies, see :func:`body_motions`."""
        self._publishers[NEWEST].publish(plan)
        for name, motion in bodies.items():
            samples = [
                {'X': X, 'w': t[:3], 'v': t[3:]}
                for X, t in zip(motion['X'], motion['twist'], strict=True)
            ]
            for sample, command in zip(samples, motion.get('acceleration', ()), strict=False):
                sample |= {'alpha': command[:3], 'a': command[3:]}
            self._publishers[f'plan/{name}'].publish(
                trajectory_message(name, motion['times'].tolist(), samples, stamp, self._frame)
            )
        self._publishers[PATH].publish(path_message(bodies['object']['X'], stamp, self._frame))


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
    """Return the feedback of a progress report; what it does not say is not a number."""
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
