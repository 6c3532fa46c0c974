"""
Joint states at 1 kHz: only the numbers that are used pass between Python and the wire.

Most of what a ``sensor_msgs/JointState`` costs in Python are its names, which never change. Here
they are compared as bytes, and the numbers are read where they stand in the serialized form (CDR,
which is part of the DDS standard and the same for every vendor).
"""

from __future__ import annotations

from collections.abc import Sequence
import struct
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError, printable
from rolling_node_kit.cdr import (
    aligned,
    ENCAPSULATION,
    HEAD,
    LENGTH,
    read_stamp,
    write_stamp,
)

T = TypeVar('T')

FIELDS = ('position', 'velocity', 'effort')


class _Reader(Generic[T]):
    """Reads messages of some joints, whose names it compares as bytes once it knows them."""

    def __init__(self, names: Sequence[str]) -> None:
        """Expect these names."""
        self._names = list(names)
        self._pieces: list[tuple[slice, bytes]] = []  # what stays, without the padding
        self._positions = 0

    def read(self, data: bytes) -> T:
        """
        Return what a serialized ``sensor_msgs/JointState`` says.

        Raises
        ------
        ParameterError
            It is not such a message, or its names or values are others.

        """
        try:
            stamp = read_stamp(data)
            pieces = self._pieces
            if not pieces or any(data[where] != known for where, known in pieces):
                self._learn(data)
            return self._take(stamp, data)
        except ParameterError:  # which is a ValueError too
            raise
        except (struct.error, IndexError, ValueError):
            raise ParameterError('the message is too short') from None

    def _take(self, stamp: int, data: bytes) -> T:
        """Return what stands behind the names."""
        raise NotImplementedError

    def _check(self, names: list[str]) -> None:
        """Raise ParameterError where the names of a message will not do."""
        raise NotImplementedError

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
        self._check(names)
        self._pieces, self._positions = pieces, aligned(at, 4)


class JointStateDecoder(_Reader[tuple[int, NDArray[np.float64]]]):
    """
    Reads stamp [ns] and positions of messages that have given names in a given order.

    The positions are a new array, in that order.
    """

    def _take(self, stamp: int, data: bytes) -> tuple[int, NDArray[np.float64]]:
        at = self._positions
        (count,) = LENGTH.unpack_from(data, at)
        if count != len(self._names):
            raise ParameterError(f'takes {len(self._names)} positions, got {count}')
        return stamp, np.frombuffer(data, '<f8', count, aligned(at + 4, 8)).astype(float)

    def _check(self, names: list[str]) -> None:
        if names != self._names:
            raise ParameterError(
                f'names must be {", ".join(self._names)}, got {printable(", ".join(names))}'
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


class JointReader(_Reader[JointReading]):
    """Reads all fields of some joints, in whatever order and beside whatever others they stand."""

    def __init__(self, names: Sequence[str]) -> None:
        """Want these joints."""
        super().__init__(names)
        self._order: list[int] = []
        self._all = 0

    def _take(self, stamp: int, data: bytes) -> JointReading:
        at = self._positions
        values: list[NDArray[np.float64] | None] = []
        for field in FIELDS:
            at = aligned(at, 4)
            (count,) = LENGTH.unpack_from(data, at)
            at += 4
            if not count:
                values.append(None)
                continue
            if count != self._all:
                raise ParameterError(
                    f'joint states with {field} of {self._names} are needed, got {count} values '
                    f'of {self._all} joints'
                )
            at = aligned(at, 8)
            values.append(np.frombuffer(data, '<f8', count, at).astype(float)[self._order])
            at += 8 * count
        return JointReading(stamp, *values)

    def _check(self, names: list[str]) -> None:
        try:
            self._order = [names.index(name) for name in self._names]
        except ValueError:
            raise ParameterError(
                f'joint states of {self._names} are needed, got {printable(names)}'
            ) from None
        self._all = len(names)


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
