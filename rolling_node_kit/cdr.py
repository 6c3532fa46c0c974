"""
The serialized form of messages (CDR), as far as topics at 1 kHz need it.

An ``AccelStamped`` costs 40 microseconds in Python, nearly all of it for objects that are thrown
away at once. Here messages of a header and a fixed number of floats are read and written as bytes.
CDR is part of the DDS standard and the same for every vendor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError, printable
from rolling_node_kit.conversions import NANOSECONDS

ACCEL, POSE = 6, 7 + 36  # floats of an AccelStamped, of a PoseWithCovarianceStamped
ENCAPSULATION = 4  # bytes before the content: representation and options
LITTLE_ENDIAN = 1
HEAD = bytes((0, LITTLE_ENDIAN, 0, 0))
LENGTH = struct.Struct('<I')

_STAMP = struct.Struct('<iI')


def read_stamp(data: bytes) -> int:
    """Return the time of a message that starts with a header [ns], or raise ParameterError."""
    if data[1] != LITTLE_ENDIAN:
        raise ParameterError('big-endian messages are not read')
    sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
    return int(sec * NANOSECONDS + nanosec)


def write_stamp(data: bytearray, stamp: int) -> None:
    """Set the time [ns] of a message that starts with a header."""
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
    Return the content of a serialized message.

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

    def __init__(self, frame: str, count: int, child: str | None = None) -> None:
        """Prepare messages of this frame, and of this child, with so many floats."""
        head = HEAD + bytes(8)
        for text in (frame,) if child is None else (frame, child):
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


ODOMETRY = 7 + 36 + 6 + 36  # floats of an Odometry: pose and twist, each with its covariance
# q (w, x, y, z), p, w, v among them; as arrays, which lists would become at each message
_STATE = np.array([6, 3, 4, 5, 0, 1, 2, 46, 47, 48, 43, 44, 45])
_COVARIANCES = np.array([*range(7, 43), *range(49, 85)])
_UNKNOWN = (np.zeros((6, 6)),) * 2


def decode_odometry(data: bytes) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
    """
    Return the content of a serialized message.

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
    covariances
        Of pose and twist in the order of the message, shape (2, 6, 6).

    Raises
    ------
    ParameterError
        It is not such a message.

    """
    try:
        stamp, _, values = decode_stamped(data, ODOMETRY, child=True)
    except ParameterError as error:
        raise ParameterError(f'odometry: {error}') from None
    return stamp, values[_STATE], values[_COVARIANCES].reshape(2, 6, 6)


class OdometryEncoder:
    """Writes serialized messages of one pair of frames."""

    def __init__(self, frame: str, child: str) -> None:
        """Prepare messages of the child's pose in the frame."""
        self._encode = StampedEncoder(frame, ODOMETRY, child).encode

    def encode(
        self,
        stamp: int,
        state: Sequence[float],
        covariances: Iterable[NDArray[np.float64]] = _UNKNOWN,
    ) -> bytes:
        """
        Return the serialized message.

        Parameters
        ----------
        stamp
            Time [ns].
        state
            q (w, x, y, z), p [m], w [rad/s], v [m/s]; 13 floats.
        covariances
            Of pose and twist, shape (6, 6), in the order of the message; zeros where not given.

        """
        qw, qx, qy, qz, x, y, z, wx, wy, wz, vx, vy, vz = state
        pose, twist = (c.ravel().tolist() for c in covariances)
        values = (x, y, z, qx, qy, qz, qw, *pose, vx, vy, vz, wx, wy, wz, *twist)
        return self._encode(stamp, values)


FIELDS = ('position', 'velocity', 'effort')


class JointReading(NamedTuple):
    """
    Values of some joints in a message, in their order.

    Attributes
    ----------
    stamp
        Time [ns].
    position, velocity, effort
        Angles [rad], rates [rad/s] and torques [N m]; None where the message has none.

    """

    stamp: int
    position: NDArray[np.float64] | None = None
    velocity: NDArray[np.float64] | None = None
    effort: NDArray[np.float64] | None = None

    def needed(self, field: str) -> NDArray[np.float64]:
        """Return a field, or raise ParameterError where the message has none."""
        value: NDArray[np.float64] | None = getattr(self, field)
        if value is None:
            raise ParameterError(f'joint states with {field} are needed, got none')
        return value


class JointReader:
    """
    Reader of messages of some joints, in any order and among any others.

    Names are compared as bytes once those of a message are known.
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Expect messages that have at least these joints."""
        self._names = list(names)
        self._pieces: list[tuple[slice, bytes]] = []  # what stays, without the padding
        self._order = np.zeros(0, int)
        self._positions = self._all = 0

    def read(self, data: bytes) -> JointReading:
        """
        Return the content of a serialized ``sensor_msgs/JointState``.

        Raises
        ------
        ParameterError
            It is not such a message, or has other names or values.

        """
        try:
            stamp = read_stamp(data)
            pieces = self._pieces
            if not pieces or any(data[where] != known for where, known in pieces):
                self._learn(data)
            return JointReading(stamp, *self._take(data))
        except ParameterError:  # which is a ValueError too
            raise
        except (struct.error, IndexError, ValueError):
            raise ParameterError('the message is too short') from None

    def _take(self, data: bytes) -> Iterator[NDArray[np.float64] | None]:
        """Yield the fields, which stand behind the names."""
        at = self._positions
        for field in FIELDS:
            at = aligned(at, 4)
            (count,) = LENGTH.unpack_from(data, at)
            at += 4
            if not count:
                yield None
                continue
            if count != self._all:
                raise ParameterError(
                    f'joint states with {field} of {self._names} are needed, got {count} values '
                    f'of {self._all} joints'
                )
            at = aligned(at, 8)
            yield np.frombuffer(data, '<f8', count, at).astype(float)[self._order]
            at += 8 * count

    def _learn(self, data: bytes) -> None:
        """Check the names of a message, and remember their bytes and where they stand."""
        self._pieces, names = [], []
        at = ENCAPSULATION + 8
        pieces = [_piece(data, at, 4)]  # another length of frame_id would move the names
        at = aligned(at + 4 + LENGTH.unpack_from(data, at)[0], 4)
        pieces.append(_piece(data, at, 4))
        (count,) = LENGTH.unpack_from(data, at)
        at += 4
        for _ in range(min(count, len(data))):
            at = aligned(at, 4)
            (length,) = LENGTH.unpack_from(data, at)
            names.append(bytes(data[at + 4 : at + 3 + length]).decode())
            pieces.append(_piece(data, at, 4 + length))
            at += 4 + length
        try:
            self._order = np.array([names.index(name) for name in self._names], int)
        except ValueError:
            raise ParameterError(
                f'joint states of {self._names} are needed, got {printable(names)}'
            ) from None
        self._all = len(names)
        self._pieces, self._positions = pieces, aligned(at, 4)


class JointStateEncoder:
    """Writes serialized messages of some joints and fields."""

    def __init__(
        self, names: Sequence[str], fields: Sequence[str] = FIELDS, frame: str = ''
    ) -> None:
        """Prepare messages of these joints with these fields in a frame; others stay empty."""
        text = frame.encode() + b'\0'
        data = bytearray(HEAD) + bytes(8) + LENGTH.pack(len(text)) + text
        _pad(data, 4)
        data += LENGTH.pack(len(names))
        for name in names:
            _pad(data, 4)
            text = name.encode() + b'\0'
            data += LENGTH.pack(len(text)) + text
        self._places: list[int] = []
        for field in FIELDS:
            _pad(data, 4)
            count = len(names) if field in fields else 0
            data += LENGTH.pack(count)
            if count:
                _pad(data, 8)
                self._places.append(len(data))
                data += bytes(8 * count)
        self._data = data
        self._values = struct.Struct(f'<{len(names)}d')

    def encode(self, stamp: int, *values: Sequence[float]) -> bytes:
        """
        Return the serialized message.

        Parameters
        ----------
        stamp
            Time [ns].
        values
            Of the fields that were asked for, in the order position, velocity, effort.

        """
        write_stamp(self._data, stamp)
        for place, numbers in zip(self._places, values, strict=True):
            self._values.pack_into(self._data, place, *numbers)
        return bytes(self._data)


def _pad(data: bytearray, size: int) -> None:
    """Lengthen up to the next place for numbers of a size."""
    data += bytes(aligned(len(data), size) - len(data))


def _piece(data: bytes, begin: int, size: int) -> tuple[slice, bytes]:
    """Return where some bytes stand, and the bytes."""
    where = slice(begin, begin + size)
    return where, bytes(data[where])
