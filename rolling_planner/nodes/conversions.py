"""Plans and planning goals to messages and back, pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import PoseStamped, Transform, Twist
from nav_msgs.msg import Path
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import check_names, ParameterError, quoted
from rolling_dynamics.quaternions import matrix_to_wxyz
from rolling_interfaces.action import PlanRolling
from rolling_interfaces.msg import RollingPlan
from rolling_node_kit.conversions import (
    array_to_wrench,
    list_to_vector,
    matrix_to_pose,
    quaternion_to_wxyz,
    vector_to_list,
    wrench_to_array,
    wxyz_to_quaternion,
)
from rolling_node_kit.qos import LATCHED
from rolling_node_kit.suite_node import SuiteNode
from rolling_planner.plan import check_sizes, Plan
from rolling_planner.workers.worker import CANCELLED, DONE, FAULT, Outcome
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint


def plan_to_message(plan: Plan, stamp: Time, frame: str) -> RollingPlan:
    """Return the message of a plan; stamp 0 means that it starts when it is accepted."""
    message = RollingPlan(
        system=plan.system,
        model_hash=plan.model_hash,
        state_names=list(plan.state_names),
        control_names=list(plan.control_names),
        times=plan.times.tolist(),
        states=plan.states.ravel().tolist(),
        controls=plan.controls.ravel().tolist(),
        interpolation=plan.interpolation,
        contact_wrenches=[array_to_wrench(w) for w in plan.contact_wrenches],
    )
    message.header.stamp, message.header.frame_id = stamp, frame
    return message


def message_to_plan(message: RollingPlan) -> Plan:
    """
    Return the plan of a message.

    Raises
    ------
    ParameterError
        It is not a plan; the text names the entry. Sizes are checked before anything is allocated.

    """
    n, m, k = len(message.state_names), len(message.control_names), len(message.times)
    states, controls = message.states, message.controls
    check_sizes(n, m, k, len(states), len(controls), len(message.contact_wrenches))
    return Plan(
        system=message.system,
        model_hash=message.model_hash,
        state_names=tuple(message.state_names),
        control_names=tuple(message.control_names),
        times=np.array(message.times),
        states=np.array(states).reshape(k, n),
        controls=np.array(controls).reshape(k, m),
        contact_wrenches=np.array([wrench_to_array(w) for w in message.contact_wrenches]).reshape(
            -1, 6
        ),
        interpolation=message.interpolation,
    )


def named_values(what: str, names: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """
    Return values by name.

    Raises
    ------
    ParameterError
        There are not as many values as names, a name stands twice, or a value is not finite.

    """
    if len(names) != len(values):
        raise ParameterError(
            f'{what}_values must have one number for each of the {len(names)} names, '
            f'got {len(values)}'
        )
    out: dict[str, float] = {}
    for name, value in zip(names, values, strict=True):
        if name in out:
            raise ParameterError(f'{what}_names: duplicate name {quoted(name)}')
        if not math.isfinite(value):
            raise ParameterError(f'{what}_values: {quoted(name)} must be finite, got {value!r}')
        out[name] = float(value)
    return out


def whole_entries(
    what: str, values: Mapping[str, float], entries: Sequence[Entry]
) -> dict[str, float | list[float]]:
    """
    Gather scalar values into entries where they are complete.

    Parameters
    ----------
    what
        ``start`` or ``goal``, for the text of errors.
    values
        Value by scalar name.
    entries
        Entries that may be named.

    Returns
    -------
    dict
        Values by name of an entry, or by scalar name where its entry is not complete.

    Raises
    ------
    ParameterError
        A name is unknown, or only a part of an attitude is given.

    """
    known = [c for entry in entries for c in entry.components]
    check_names(values, known, f'{what}_names: no state')
    out: dict[str, float | list[float]] = {}
    for entry in entries:
        given = {c: values[c] for c in entry.components if c in values}
        if len(given) == entry.size:
            out[entry.name] = list(given.values())
        elif given and entry.kind == 'quaternion':
            missing = [c for c in entry.components if c not in given]
            raise ParameterError(
                f'{what}_names: the attitude {entry.name} is needed as a whole, missing: '
                f'{", ".join(missing)}'
            )
        else:
            out.update(given)
    return out


def start_vector(values: Mapping[str, float], layout: Layout, present: Array) -> Array:
    """Return the present state with the given values in it, attitudes normalised."""
    x = np.array(present, dtype=float)
    for name, value in whole_entries('start', values, layout.entries).items():
        if name in layout:
            block = np.asarray(value, dtype=float).reshape(-1)
            if layout.entry(name).kind == 'quaternion':
                norm = float(np.linalg.norm(block))
                if not abs(norm - 1.0) < 1e-3:
                    raise ParameterError(
                        f'start_values: {name} must be a unit quaternion, its norm is {norm:.6g}'
                    )
                block = block / norm
            x[layout.slice(name)] = block
        else:
            x[layout.names.index(name)] = value
    return x


def seconds_to_duration(seconds: float) -> Duration:
    """Return the message of a duration [s]."""
    whole = math.floor(seconds)
    return Duration(sec=whole, nanosec=min(round((seconds - whole) * 1e9), 999_999_999))


def trajectory_message(
    name: str, motion: Mapping[str, Array], stamp: Time, frame: str
) -> MultiDOFJointTrajectory:
    """
    Return the trajectory of one body.

    Parameters
    ----------
    name
        Name of the body.
    motion
        Its motion, see :func:`body_motions`.
    stamp
        Time of the start; 0 if it is not known yet.
    frame
        Frame of the poses.

    """
    message = MultiDOFJointTrajectory(joint_names=[name])
    message.header.stamp, message.header.frame_id = stamp, frame
    rows = {
        key: motion[key].tolist() for key in ('times', 'twist', 'acceleration') if key in motion
    }
    for k, X in enumerate(motion['X']):
        where = list_to_vector(X[:3, 3].tolist())
        turn = wxyz_to_quaternion(matrix_to_wxyz(X))
        point = MultiDOFJointTrajectoryPoint(
            transforms=[Transform(translation=where, rotation=turn)],
            velocities=[_twist(rows['twist'][k])],
            time_from_start=seconds_to_duration(rows['times'][k]),
        )
        if 'acceleration' in rows:
            point.accelerations = [_twist(rows['acceleration'][k])]
        message.points.append(point)
    return message


def _twist(values: Sequence[float]) -> Twist:
    """Return the message of an angular and a linear vector."""
    return Twist(angular=list_to_vector(values[:3]), linear=list_to_vector(values[3:]))


def path_message(poses: Sequence[NDArray], stamp: Time, frame: str) -> Path:
    """Return the path of poses, each 4x4."""
    path = Path()
    path.header.stamp, path.header.frame_id = stamp, frame
    for X in poses:
        pose = PoseStamped(pose=matrix_to_pose(X))
        pose.header = path.header
        path.poses.append(pose)
    return path


def trajectory_to_arrays(message: MultiDOFJointTrajectory) -> dict[str, Array]:
    """
    Return the hand trajectory of a request.

    Parameters
    ----------
    message
        One joint; every point has a pose; velocities and accelerations at all points or at none.

    Returns
    -------
    dict
        ``times`` (k,) [s], ``q_WH`` (k, 4) w x y z, ``p_WH`` (k, 3) [m] and, where given,
        ``w_WH_H``, ``v_WH_H``, ``alpha_WH_H``, ``a_WH_H`` (k, 3), expressed in the hand.

    Raises
    ------
    ParameterError
        It is not the trajectory of one body; its numbers are checked where they are used.

    """
    points = message.points
    if len(message.joint_names) != 1 or len(points) < 2:
        raise ParameterError(
            'hand_trajectory must have one joint and at least two points, got '
            f'{len(message.joint_names)} and {len(points)}'
        )
    if any(len(p.transforms) != 1 for p in points):
        raise ParameterError('hand_trajectory: every point must have one pose')
    out = {
        'times': np.array(
            [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in points]
        ),
        'q_WH': np.array([quaternion_to_wxyz(p.transforms[0].rotation) for p in points]),
        'p_WH': np.array([vector_to_list(p.transforms[0].translation) for p in points]),
    }
    for angular, linear, field in (
        ('w_WH_H', 'v_WH_H', 'velocities'),
        ('alpha_WH_H', 'a_WH_H', 'accelerations'),
    ):
        given = [getattr(p, field) for p in points]
        if not any(given):
            continue
        if any(len(g) != 1 for g in given):
            raise ParameterError(f'hand_trajectory: {field} must be given at all points or none')
        out[angular] = np.array([vector_to_list(g[0].angular) for g in given])
        out[linear] = np.array([vector_to_list(g[0].linear) for g in given])
    return out


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
            message = trajectory_message(name, motion, stamp, self._frame)
            self._publishers[f'plan/{name}'].publish(message)
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
    """Return the feedback of a progress report; missing values are NaN."""
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
