"""
The serialized form of messages (CDR), as far as topics at 1 kHz need it.

An ``AccelStamped`` costs 40 microseconds in Python, nearly all of it for objects that are thrown
away at once. Here messages of a header and a fixed number of floats are read and written as bytes.
CDR is part of the DDS standard and the same for every vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.conversions import NANOSECONDS

ACCEL, POSE = 6, 7 + 36  # floats of an AccelStamped, of a PoseWithCovarianceStamped
ENCAPSULATION = 4  # bytes before the content: representation and options
LITTLE_ENDIAN = 1
HEAD = bytes((0, LITTLE_ENDIAN, 0, 0))
LENGTH = struct.Struct('<I')

_STAMP = struct.Struct('<iI')


def read_stamp(data: bytes) -> int:
    """Return the time of a message that begins with a header [ns], or raise ParameterError."""
    if data[1] != LITTLE_ENDIAN:
        raise ParameterError('big-endian messages are not read')
    sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
    return int(sec * NANOSECONDS + nanosec)


def write_stamp(data: bytearray, stamp: int) -> None:
    """Put the time [ns] into a message that begins with a header."""
    _STAMP.pack_into(data, ENCAPSULATION, *divmod(stamp, NANOSECONDS))


def aligned(at: int, size: int) -> int:
    """Return the next offset that is a multiple of a size from the start of the content."""
    return ENCAPSULATION + -(-(at - ENCAPSULATION) // size) * size


class Stamped(NamedTuple):
    """Time [ns], frame, and the numbers in the order of the message."""

    stamp: int
    frame: str
    values: NDArray[np.float64]


def decode_stamped(data: bytes, count: int, *, child: bool = False) -> Stamped:
    """
    Return what a serialized message says.

    Parameters
    ----------
    data
        The message: ``std_msgs/Header``, then 64-bit floats only.
    count
        Number of the floats.
    child
        Whether the name of a child frame is between them.

    Raises
    ------
    ParameterError
        It is not such a message.

    """
    try:
        stamp = read_stamp(data)
        (length,) = LENGTH.unpack_from(data, ENCAPSULATION + 8)
        end = ENCAPSULATION + 12 + length
        frame = bytes(data[end - length : end - 1]).decode()
        if child:
            at = aligned(end, 4)
            end = at + 4 + LENGTH.unpack_from(data, at)[0]
        values = np.frombuffer(data, '<f8', count, aligned(end, 8)).astype(float)
    except ParameterError:  # which is a ValueError too
        raise
    except (struct.error, IndexError, ValueError):
        raise ParameterError('the message is too short') from None
    return Stamped(stamp, frame, values)


class StampedEncoder:
    """Writes serialized messages of one frame."""

    def __init__(self, frame: str, count: int, *, child: bool = False) -> None:
        """Prepare messages of this frame, and of a child without name, with so many floats."""
        head = HEAD + bytes(8)
        for text in (frame, '') if child else (frame,):
            name = text.encode() + b'\0'
            head += bytes(aligned(len(head), 4) - len(head)) + LENGTH.pack(len(name)) + name
        self._at = aligned(len(head), 8)
        self._data = bytearray(self._at + 8 * count)
        self._data[: len(head)] = head
        self._values = struct.Struct(f'<{count}d')

    def encode(self, stamp: int, values: Sequence[float]) -> bytes:
        """Return the message of a time [ns] and numbers, in the order of the message."""
        write_stamp(self._data, stamp)
        self._values.pack_into(self._data, self._at, *values)
        return bytes(self._data)


def accel_values(u: Sequence[float]) -> tuple[float, ...]:
    """Return the numbers of an ``AccelStamped``, of alpha_WH_H [rad/s^2] and a_WH_H [m/s^2]."""
    return (*u[3:6], *u[0:3])


def hand_control(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return alpha_WH_H [rad/s^2] and a_WH_H [m/s^2] of the numbers of an ``AccelStamped``."""
    return np.concatenate([values[3:6], values[0:3]])
