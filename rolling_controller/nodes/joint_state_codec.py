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
        self._known: bytes = b''
        self._begin = self._positions = 0

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
            if data[1] != LITTLE_ENDIAN:
                raise ParameterError('big-endian messages are not read')
            sec, nanosec = _STAMP.unpack_from(data, ENCAPSULATION)
            known = self._known
            if not known or data[self._begin : self._begin + len(known)] != known:
                self._learn(data)
            at = self._positions
            (count,) = _LENGTH.unpack_from(data, at)
            if count != len(self._names):
                raise ParameterError(f'takes {len(self._names)} positions, got {count}')
            at = _aligned(at + 4, 8)
            position = np.frombuffer(data, '<f8', count, at).astype(float)
        except (struct.error, IndexError, ValueError, UnicodeDecodeError):
            raise ParameterError('the message is too short') from None
        return sec * NANOSECONDS + nanosec, position

    def _learn(self, data: bytes) -> None:
        """Check the names of a message, and remember their bytes and where they stand."""
        self._known = b''
        at = ENCAPSULATION + 8
        at += 4 + _LENGTH.unpack_from(data, at)[0]  # frame_id
        begin = ENCAPSULATION + 8  # a frame_id of another length would move the names
        at = _aligned(at, 4)
        (count,) = _LENGTH.unpack_from(data, at)
        at += 4
        names = []
        for _ in range(min(count, len(data))):
            at = _aligned(at, 4)
            (length,) = _LENGTH.unpack_from(data, at)
            names.append(bytes(data[at + 4 : at + 3 + length]).decode())
            at += 4 + length
        if names != self._names:
            raise ParameterError(
                f'names must be {", ".join(self._names)}, got {", ".join(names)[:200]}'
            )
        self._begin, self._positions = begin, _aligned(at, 4)
        self._known = bytes(data[begin : self._positions])


def _aligned(at: int, size: int) -> int:
    """Return the next offset that is a multiple of a size from the start of the content."""
    return ENCAPSULATION + -(-(at - ENCAPSULATION) // size) * size
