"""
Odometry at 1 kHz: only the numbers that are used pass between Python and the wire.

A whole ``nav_msgs/Odometry`` costs 60 to 80 microseconds in Python, most of it for two covariances
that nobody reads. Here the message is written and read in its serialized form (CDR, which is part
of the DDS standard and the same for every vendor).
"""

from __future__ import annotations

from collections.abc import Sequence
import struct

from nav_msgs.msg import Odometry
import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import aligned, ENCAPSULATION, LENGTH, read_stamp, write_stamp

POSE_SIZE = (3 + 4 + 36) * 8

_POSE = struct.Struct('<7d')
_TWIST = struct.Struct('<6d')


def _pose_offset(data: bytes | bytearray) -> int:
    """Return where the position begins: after stamp and two strings, aligned to 8."""
    at = ENCAPSULATION + 8
    for _ in range(2):
        at = aligned(at, 4)
        at += 4 + LENGTH.unpack_from(data, at)[0]
    return aligned(at, 8)


def decode_odometry(data: bytes) -> tuple[int, NDArray[np.float64]]:
    """
    Return stamp, pose and twist of a serialized message.

    Parameters
    ----------
    data
        A serialized ``nav_msgs/Odometry``.

    Returns
    -------
    stamp
        Time [ns].
    state
        q (w, x, y, z), p [m] in the parent, w [rad/s], v [m/s] in the child; shape (13,).

    Raises
    ------
    ParameterError
        It is not such a message.

    """
    try:
        stamp = read_stamp(data)
        at = _pose_offset(data)
        x, y, z, qx, qy, qz, qw = _POSE.unpack_from(data, at)
        vx, vy, vz, wx, wy, wz = _TWIST.unpack_from(data, at + POSE_SIZE)
    except ParameterError as error:
        raise ParameterError(f'odometry: {error}') from None
    except (struct.error, IndexError):
        raise ParameterError('odometry: the message is too short') from None
    return stamp, np.array((qw, qx, qy, qz, x, y, z, wx, wy, wz, vx, vy, vz))


class OdometryEncoder:
    """Writes serialized messages of one pair of frames."""

    def __init__(self, frame: str, child: str) -> None:
        """Prepare messages of the child's pose in the frame."""
        message = Odometry(child_frame_id=child)
        message.header.frame_id = frame
        self._data = bytearray(serialize_message(message))
        self._pose = _pose_offset(self._data)

    def encode(self, stamp: int, state: Sequence[float]) -> bytes:
        """
        Return the serialized message.

        Parameters
        ----------
        stamp
            Time [ns].
        state
            q (w, x, y, z), p [m], w [rad/s], v [m/s]; 13 floats.

        """
        qw, qx, qy, qz, x, y, z, wx, wy, wz, vx, vy, vz = state
        data = self._data
        write_stamp(data, stamp)
        _POSE.pack_into(data, self._pose, x, y, z, qx, qy, qz, qw)
        _TWIST.pack_into(data, self._pose + POSE_SIZE, vx, vy, vz, wx, wy, wz)
        return bytes(data)
