"""
Messages to arrays and back, pure functions.

Quaternions are x, y, z, w in messages and w, x, y, z in arrays: converted here and nowhere else.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
import math

from builtin_interfaces.msg import Time
from geometry_msgs.msg import (
    Accel,
    Point,
    Pose,
    Quaternion,
    Transform,
    TransformStamped,
    Vector3,
    Wrench,
)
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import matrix_to_wxyz
from sensor_msgs.msg import PointCloud2, PointField

NANOSECONDS = 1_000_000_000
POINT_TYPES = {PointField.FLOAT32: 'f4', PointField.FLOAT64: 'f8'}


def nanoseconds_to_time(stamp: int) -> Time:
    """Return the message of a time in nanoseconds."""
    return Time(sec=stamp // NANOSECONDS, nanosec=stamp % NANOSECONDS)


def time_to_nanoseconds(stamp: Time) -> int:
    """Return a time in nanoseconds."""
    return stamp.sec * NANOSECONDS + stamp.nanosec


def vector_to_list(v: Vector3 | Point) -> list[float]:
    """Return x, y, z."""
    return [v.x, v.y, v.z]


def list_to_vector(v: Sequence[float]) -> Vector3:
    """Return the message of three numbers."""
    return Vector3(x=float(v[0]), y=float(v[1]), z=float(v[2]))


def list_to_point(v: Sequence[float]) -> Point:
    """Return the message of a point [m]."""
    return Point(x=float(v[0]), y=float(v[1]), z=float(v[2]))


def wxyz_to_quaternion(q: Sequence[float]) -> Quaternion:
    """Return the message of a quaternion given as w, x, y, z."""
    return Quaternion(w=float(q[0]), x=float(q[1]), y=float(q[2]), z=float(q[3]))


def quaternion_to_wxyz(q: Quaternion) -> list[float]:
    """Return a quaternion as w, x, y, z."""
    return [q.w, q.x, q.y, q.z]


def matrix_to_pose(X: NDArray[np.float64]) -> Pose:
    """Return the pose of a homogeneous matrix, shape (4, 4)."""
    return Pose(
        position=list_to_point(X[:3, 3].tolist()),
        orientation=wxyz_to_quaternion(matrix_to_wxyz(X)),
    )


def matrix_to_transform(
    X: NDArray[np.float64], stamp: Time, parent: str, child: str
) -> TransformStamped:
    """Return the transform of a homogeneous matrix X_parent_child, shape (4, 4)."""
    out = TransformStamped(child_frame_id=child)
    out.header.stamp, out.header.frame_id = stamp, parent
    out.transform = Transform(
        translation=list_to_vector(X[:3, 3].tolist()),
        rotation=wxyz_to_quaternion(matrix_to_wxyz(X)),
    )
    return out


def accel_to_control(accel: Accel) -> NDArray[np.float64]:
    """Return alpha_WH_H [rad/s^2] and a_WH_H [m/s^2], shape (6,)."""
    return np.array([*vector_to_list(accel.angular), *vector_to_list(accel.linear)])


def array_to_wrench(w: ArrayLike) -> Wrench:
    """Return the message of a wrench given as torque [N m] and force [N], 6 numbers."""
    values = np.asarray(w, dtype=float).tolist()
    return Wrench(torque=list_to_vector(values[0:3]), force=list_to_vector(values[3:6]))


def wrench_to_array(w: Wrench) -> NDArray[np.float64]:
    """Return torque [N m] and force [N], shape (6,)."""
    return np.array([*vector_to_list(w.torque), *vector_to_list(w.force)])


def finite(*messages: Vector3 | Point | Quaternion) -> bool:
    """Return whether every component of the messages is a finite number."""
    return all(
        math.isfinite(getattr(m, slot.lstrip('_')))
        for m in messages
        for slot in m.__slots__
        if slot.lstrip('_') in 'xyzw'
    )


def points_to_cloud(points: NDArray[np.float64], stamp: Time, frame: str) -> PointCloud2:
    """Return points [m], shape (k, 3), as an ordered cloud of 64-bit numbers."""
    out = PointCloud2(height=1, width=len(points), point_step=24, row_step=24 * len(points))
    out.header.stamp, out.header.frame_id = stamp, frame
    out.fields = [
        PointField(name=name, offset=8 * k, datatype=PointField.FLOAT64, count=1)
        for k, name in enumerate('xyz')
    ]
    out.is_dense = bool(np.all(np.isfinite(points)))
    out.data = array('B', np.ascontiguousarray(points, dtype='<f8').tobytes())
    return out


def cloud_to_points(message: PointCloud2) -> NDArray[np.float64]:
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
            f'a cloud with fields x, y, z of 32 or 64 bits is needed ({error})'
        ) from None
    return np.column_stack([points[name].astype(float) for name in 'xyz'])


@lru_cache(maxsize=8)
def _point(fields: tuple[tuple[str, int, int], ...], order: str, size: int) -> np.dtype:
    """Return the layout of a point: names, types and offsets of its fields; its size [bytes]."""
    known = {
        name: (POINT_TYPES[kind], offset) for name, kind, offset in fields if kind in POINT_TYPES
    }
    return np.dtype(
        {
            'names': ['x', 'y', 'z'],
            'formats': [order + known[name][0] for name in 'xyz'],
            'offsets': [known[name][1] for name in 'xyz'],
            'itemsize': size,
        }
    )
