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
from rolling_dynamics.nodes.conversions import NANOSECONDS

ENCAPSULATION = 4  # bytes before the content: representation and options
LITTLE_ENDIAN = 1
POSE_SIZE = (3 + 4 + 36) * 8

_STAMP = struct.Struct('<iI')
_LENGTH = struct.Struct('<I')
_POSE = struct.Struct('<7d')
_TWIST = struct.Struct('<6d')


def _pose_offset(data: bytes | bytearray) -> int:
    """Return where the position begins: after stamp and two strings, aligned to 8."""
    at = ENCAPSULATION + 8
    for _ in range(2):
        at = (at + 3) // 4 * 4
        at += 4 + _LENGTH.unpack_from(data, at)[0]
    return ENCAPSULATION + (at - ENCAPSULATION + 7) // 8 * 8


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
        if data[1] != LITTLE_ENDIAN:
            raise ParameterError('odometry: big-endian messages are not read')
        sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
        at = _pose_offset(data)
        x, y, z, qx, qy, qz, qw = _POSE.unpack_from(data, at)
        vx, vy, vz, wx, wy, wz = _TWIST.unpack_from(data, at + POSE_SIZE)
    except (struct.error, IndexError):
        raise ParameterError('odometry: the message is too short') from None
    return sec * NANOSECONDS + nanosec, np.array((qw, qx, qy, qz, x, y, z, wx, wy, wz, vx, vy, vz))


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
        _STAMP.pack_into(data, ENCAPSULATION, *divmod(stamp, NANOSECONDS))
        _POSE.pack_into(data, self._pose, x, y, z, qx, qy, qz, qw)
        _TWIST.pack_into(data, self._pose + POSE_SIZE, vx, vy, vz, wx, wy, wz)
        return bytes(data)
