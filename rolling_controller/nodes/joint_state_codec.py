"""
Joint states at 1 kHz: only the numbers that are used pass between Python and the wire.

Most of what a ``sensor_msgs/JointState`` costs in Python are its names, which never change. Here
they are compared as bytes, and the numbers are read where they stand in the serialized form (CDR,
which is part of the DDS standard and the same for every vendor).
"""

from __future__ import annotations

from collections.abc import Sequence
import struct

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.conversions import NANOSECONDS

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
        if names != self._names:
            raise ParameterError(
                f'names must be {", ".join(self._names)}, got {", ".join(names)[:200]}'
            )
        self._pieces, self._positions = pieces, _aligned(at, 4)


def _piece(data: bytes, begin: int, size: int) -> tuple[slice, bytes]:
    """Return where some bytes stand, and the bytes."""
    where = slice(begin, begin + size)
    return where, bytes(data[where])


def _aligned(at: int, size: int) -> int:
    """Return the next offset that is a multiple of a size from the start of the content."""
    return ENCAPSULATION + -(-(at - ENCAPSULATION) // size) * size
