"""Messages of joints, images and poses to arrays and back, pure functions."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Pose
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.conversions import (
    nanoseconds_to_time,
    quaternion_to_wxyz,
    vector_to_list,
)
from sensor_msgs.msg import PointCloud2, PointField
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

TYPES = {PointField.FLOAT32: 'f4', PointField.FLOAT64: 'f8'}


def joints_to_trajectory(
    names: Sequence[str],
    stamp: int,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    ahead: float,
) -> JointTrajectory:
    """Return a trajectory of the one point that is to be reached after some time [s]."""
    out = JointTrajectory(joint_names=list(names))
    out.header.stamp = nanoseconds_to_time(stamp)
    point = JointTrajectoryPoint(positions=position.tolist(), velocities=velocity.tolist())
    point.time_from_start.nanosec = round(ahead * 1e9)
    out.points = [point]
    return out


def markers_to_cloud(markers: NDArray[np.float64], stamp: Time, frame: str) -> PointCloud2:
    """Return places of markers [m], shape (k, 3), as an ordered cloud of 64-bit numbers."""
    out = PointCloud2(height=1, width=len(markers), point_step=24, row_step=24 * len(markers))
    out.header.stamp, out.header.frame_id = stamp, frame
    out.fields = [
        PointField(name=name, offset=8 * k, datatype=PointField.FLOAT64, count=1)
        for k, name in enumerate('xyz')
    ]
    out.is_dense = bool(np.all(np.isfinite(markers)))
    out.data = array('B', np.ascontiguousarray(markers, dtype='<f8').tobytes())
    return out


def cloud_to_markers(message: PointCloud2) -> NDArray[np.float64]:
    """
    Return the points of a cloud in their order [m], shape (k, 3).

    Raises
    ------
    ParameterError
        It has no x, y, z of 32 or 64 bits, or its size does not fit.

    """
    fields = tuple((f.name, f.datatype, f.offset) for f in message.fields)
    count = message.width * message.height
    try:
        kind = _point(fields, '>' if message.is_bigendian else '<', message.point_step)
        points = np.frombuffer(bytes(message.data), dtype=kind, count=count)
    except (KeyError, ValueError) as error:
        raise ParameterError(
            f'markers: a cloud with fields x, y, z of 32 or 64 bits is needed ({error})'
        ) from None
    return np.column_stack([points[name].astype(float) for name in 'xyz'])


@lru_cache(maxsize=8)
def _point(fields: tuple[tuple[str, int, int], ...], order: str, size: int) -> np.dtype:
    """Return the layout of a point: names, types and offsets of its fields; its size [bytes]."""
    known = {name: (TYPES[kind], offset) for name, kind, offset in fields if kind in TYPES}
    return np.dtype(
        {
            'names': ['x', 'y', 'z'],
            'formats': [order + known[name][0] for name in 'xyz'],
            'offsets': [known[name][1] for name in 'xyz'],
            'itemsize': size,
        }
    )


def pose_to_arrays(pose: Pose) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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


def checked_pose(
    p: NDArray[np.float64], q: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """
    Return place [m] and quaternion (w, x, y, z), that of norm 1.

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
