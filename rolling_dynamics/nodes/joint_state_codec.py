"""
Joint states at 1 kHz: only the numbers that are used pass between Python and the wire.

Most of what a ``sensor_msgs/JointState`` costs in Python are its names, which never change. Here
they are compared as bytes, and the numbers are read where they stand in the serialized form (CDR,
which is part of the DDS standard and the same for every vendor).
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.conversions import NANOSECONDS

FIELDS = ('position', 'velocity', 'effort')
ENCAPSULATION = 4  # bytes before the content: representation and options
LITTLE_ENDIAN = 1

_STAMP = struct.Struct('<iI')
_LENGTH = struct.Struct('<I')


class JointStateDecoder:
    """Reads the positions of messages that have given names in a given order."""

    def __init__(self, names: Sequence[str]) -> None:
        """Expect these names."""
        self._names = list(names)
        self._pieces: list[tuple[slice, bytes]] = []  # what stays, without the padding
        self._positions = 0

    def decode(self, data: bytes) -> tuple[int, NDArray[np.float64]]:
        """
        Return stamp and positions of a serialized message.

        Parameters
        ----------
        data
            A serialized ``sensor_msgs/JointState``.

        Returns
        -------
        stamp
            Time [ns].
        position
            In the order of the names, a new array.

        Raises
        ------
        ParameterError
            It is not such a message, or its names are others.

        """
        try:
            return self._read(data)
        except ParameterError:  # which is a ValueError too
            raise
        except (struct.error, IndexError, ValueError):
            raise ParameterError('the message is too short') from None

    def _read(self, data: bytes) -> tuple[int, NDArray[np.float64]]:
        if data[1] != LITTLE_ENDIAN:
            raise ParameterError('big-endian messages are not read')
        sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
        pieces = self._pieces
        if not pieces or any(data[where] != known for where, known in pieces):
            self._learn(data)
        at = self._positions
        (count,) = _LENGTH.unpack_from(data, at)
        if count != len(self._names):
            raise ParameterError(f'takes {len(self._names)} positions, got {count}')
        position = np.frombuffer(data, '<f8', count, _aligned(at + 4, 8)).astype(float)
        return sec * NANOSECONDS + nanosec, position

    def _learn(self, data: bytes) -> None:
        """Check the names of a message, and remember their bytes and where they stand."""
        self._pieces, names = [], []
        at = ENCAPSULATION + 8
        pieces = [_piece(data, at, 4)]  # another length of frame_id would move the names
        at = _aligned(at + 4 + _LENGTH.unpack_from(data, at)[0], 4)
        pieces.append(_piece(data, at, 4))
        (count,) = _LENGTH.unpack_from(data, at)
        at += 4
        for _ in range(min(count, len(data))):
            at = _aligned(at, 4)
            (length,) = _LENGTH.unpack_from(data, at)
            names.append(bytes(data[at + 4 : at + 3 + length]).decode())
            pieces.append(_piece(data, at, 4 + length))
            at += 4 + length
        self._check(names)
        self._pieces, self._positions = pieces, _aligned(at, 4)

    def _check(self, names: list[str]) -> None:
        if names != self._names:
            raise ParameterError(
                f'names must be {", ".join(self._names)}, got {", ".join(names)[:200]}'
            )


class JointReading(NamedTuple):
    """
    What a message says of some joints, in their order.

    Attributes
    ----------
    stamp
        Time [ns].
    position, velocity, effort
        Angles [rad], rates [rad/s] and torques [N m]; None where the message has none.

    """

    stamp: int
    position: NDArray[np.float64] | None
    velocity: NDArray[np.float64] | None
    effort: NDArray[np.float64] | None

    def needed(self, field: str) -> NDArray[np.float64]:
        """Return a field, or raise ParameterError where the message has none."""
        value: NDArray[np.float64] | None = getattr(self, field)
        if value is None:
            raise ParameterError(f'joint states with {field} are needed, got none')
        return value


class JointReader(JointStateDecoder):
    """Reads all fields of some joints, in whatever order and beside whatever others they stand."""

    def __init__(self, names: Sequence[str]) -> None:
        """Want these joints."""
        super().__init__(names)
        self._order: list[int] = []
        self._all = 0

    def read(self, data: bytes) -> JointReading:
        """
        Return what a serialized message says of the joints.

        Raises
        ------
        ParameterError
            It is not such a message, or a joint or its value is missing.

        """
        try:
            return self._fields(data)
        except ParameterError:
            raise
        except (struct.error, IndexError, ValueError):
            raise ParameterError('the message is too short') from None

    def _fields(self, data: bytes) -> JointReading:
        if data[1] != LITTLE_ENDIAN:
            raise ParameterError('big-endian messages are not read')
        sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
        pieces = self._pieces
        if not pieces or any(data[where] != known for where, known in pieces):
            self._learn(data)
        at = self._positions
        values: list[NDArray[np.float64] | None] = []
        for field in FIELDS:
            at = _aligned(at, 4)
            (count,) = _LENGTH.unpack_from(data, at)
            at += 4
            if not count:
                values.append(None)
                continue
            if count != self._all:
                raise ParameterError(
                    f'joint states with {field} of {self._names} are needed, got {count} values '
                    f'of {self._all} joints'
                )
            at = _aligned(at, 8)
            values.append(np.frombuffer(data, '<f8', count, at).astype(float)[self._order])
            at += 8 * count
        return JointReading(sec * NANOSECONDS + nanosec, *values)

    def _check(self, names: list[str]) -> None:
        try:
            self._order = [names.index(name) for name in self._names]
        except ValueError:
            raise ParameterError(
                f'joint states of {self._names} are needed, got {str(names)[:200]}'
            ) from None
        self._all = len(names)


class JointStateEncoder:
    """Writes serialized messages of some joints and fields."""

    def __init__(self, names: Sequence[str], fields: Sequence[str] = FIELDS) -> None:
        """Prepare messages of these joints with these fields; the others stay empty."""
        data = bytearray((0, LITTLE_ENDIAN, 0, 0)) + bytes(8) + _LENGTH.pack(1) + b'\0'
        _pad(data, 4)
        data += _LENGTH.pack(len(names))
        for name in names:
            _pad(data, 4)
            text = name.encode() + b'\0'
            data += _LENGTH.pack(len(text)) + text
        self._places: list[int] = []
        for field in FIELDS:
            _pad(data, 4)
            count = len(names) if field in fields else 0
            data += _LENGTH.pack(count)
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
        _STAMP.pack_into(self._data, ENCAPSULATION, *divmod(stamp, NANOSECONDS))
        for place, numbers in zip(self._places, values, strict=True):
            self._values.pack_into(self._data, place, *numbers)
        return bytes(self._data)


def _pad(data: bytearray, size: int) -> None:
    """Lengthen up to the next place for numbers of a size."""
    data += bytes(_aligned(len(data), size) - len(data))


def _piece(data: bytes, begin: int, size: int) -> tuple[slice, bytes]:
    """Return where some bytes stand, and the bytes."""
    where = slice(begin, begin + size)
    return where, bytes(data[where])


def _aligned(at: int, size: int) -> int:
    """Return the next offset that is a multiple of a size from the start of the content."""
    return ENCAPSULATION + -(-(at - ENCAPSULATION) // size) * size
