"""Messages of joints, images and poses to arrays and back, pure functions."""

from __future__ import annotations

from collections.abc import Sequence
import math

from geometry_msgs.msg import Pose
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.conversions import (
    nanoseconds_to_time,
    quaternion_to_wxyz,
    vector_to_list,
)
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint


def joints_to_trajectory(
    names: Sequence[str], stamp: int, position: Array, velocity: Array, ahead: float
) -> JointTrajectory:
    """Return a trajectory of the one point that is to be reached after some time [s]."""
    out = JointTrajectory(joint_names=list(names))
    out.header.stamp = nanoseconds_to_time(stamp)
    point = JointTrajectoryPoint(positions=position.tolist(), velocities=velocity.tolist())
    point.time_from_start.nanosec = round(ahead * 1e9)
    out.points = [point]
    return out


def pose_to_arrays(pose: Pose) -> tuple[Array, Array]:
    """
    Return place [m] and unit quaternion (w, x, y, z).

    Raises
    ------
    ParameterError
        Something is not finite, or the quaternion is far from a unit.

    """
    return checked_pose(
        np.array(vector_to_list(pose.position)), np.array(quaternion_to_wxyz(pose.orientation))
    )


def checked_pose(p: Array, q: Array) -> tuple[Array, Array]:
    """
    Return position [m] and quaternion (w, x, y, z) of norm 1.

    Raises
    ------
    ParameterError
        Something is not finite, or the quaternion is far from a unit.

    """
    norm = math.sqrt(float(q @ q))
    if not math.isfinite(p.sum() + norm) or abs(norm - 1.0) > 1e-2:
        raise ParameterError(
            f'a pose needs finite numbers and a unit quaternion, got norm {norm:.3g}'
        )
    return p, q / norm
