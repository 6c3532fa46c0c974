"""
The serialized form of messages (CDR), as far as the codecs of fast topics need it.

It is part of the DDS standard and the same for every vendor.
"""

from __future__ import annotations

import struct

from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.conversions import NANOSECONDS

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
