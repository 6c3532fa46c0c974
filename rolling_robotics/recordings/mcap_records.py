"""
Records of an MCAP file, read from its start to the last that is whole.

The index at the end of a file is not needed: it is missing where the recorder was killed, and may
be wrong where a file is damaged. See https://mcap.dev/spec; the numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
import struct
import sys
from typing import BinaryIO, NamedTuple
import zlib

MAGIC = b'\x89MCAP0\r\n'
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x02, 0x03, 0x04, 0x05, 0x06
HEAD = struct.Struct('<BQ')  # of a record: kind, length of what follows
CHUNK_HEAD = struct.Struct('<QQQI')  # first time, last time, size, checksum
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, number, time it was received and sent [ns]
MOST_BYTES = 256 * 1024 * 1024  # of a record and of what a chunk becomes; recorders write some MB
RUN = 4 * 1024 * 1024  # bytes of messages outside chunks that are read at once


class DamageError(Exception):
    """A record is not whole."""


class Schema(NamedTuple):
    """Type of messages: its name, and its definition in some encoding."""

    name: str
    encoding: str
    text: str


class Channel(NamedTuple):
    """A topic: its name, the number of its schema, and the encoding of its messages."""

    topic: str
    schema: int
    encoding: str


class Message(NamedTuple):
    """A message: time it was received [ns], number of its channel, and what it says."""

    time: int
    channel: int
    data: bytes


class Block(NamedTuple):
    """A stretch of the file: where it stands, whether it is a chunk, and its first time [ns]."""

    begin: int
    size: int
    is_chunk: bool
    start: int


@dataclass
class Contents:
    """
    What a file holds.

    Attributes
    ----------
    schemas, channels
        By their numbers.
    blocks
        Stretches that hold messages, all of them whole.
    counts
        Numbers of messages by channel.
    dropped
        Number of chunks that are damaged.
    end
        Where reading ended [bytes].
    complete
        Whether that is the end that a recorder writes.

    """

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)
    dropped: int = 0
    end: int = 0
    complete: bool = False

    def take(self, data: bytes, block: Block) -> None:
        """Take a block of records; raise DamageError where one of them is not whole."""
        times, counts = [], dict(self.counts)
        schemas, channels = dict(self.schemas), dict(self.channels)
        for kind, begin, end in records(data):
            if kind == SCHEMA:
                number, schema = _schema(data[begin:end])
                schemas.setdefault(number, schema)
            elif kind == CHANNEL:
                number, channel = _channel(data[begin:end])
                channels.setdefault(number, channel)
            elif kind == MESSAGE:
                if end - begin < MESSAGE_HEAD.size:
                    raise DamageError
                number, _, time, _ = MESSAGE_HEAD.unpack_from(data, begin)
                counts[number] = counts.get(number, 0) + 1
                times.append(time)
        self.schemas, self.channels, self.counts = schemas, channels, counts
        if times:
            self.blocks.append(block._replace(start=min(times)))


def scan(file: BinaryIO, size: int) -> Contents:
    """
    Read a file once, and find what of it is whole.

    Parameters
    ----------
    file
        The file, at its start.
    size
        Number of its bytes.

    Raises
    ------
    DamageError
        It does not begin as an MCAP file.

    """
    if file.read(len(MAGIC)) != MAGIC:
        raise DamageError
    found, run, at = Contents(), len(MAGIC), len(MAGIC)
    while at + HEAD.size <= size:
        file.seek(at)
        kind, length = HEAD.unpack(file.read(HEAD.size))
        following = at + HEAD.size + length
        if kind == 0 or following > size:
            break
        if kind in {CHUNK, FOOTER} or following - run > RUN:
            _take(found, file, Block(run, at - run, is_chunk=False, start=0))
            run = at
        if kind == CHUNK:
            _take(found, file, Block(at, following - at, is_chunk=True, start=0))
            run = following
        at = following
        if kind == FOOTER:
            found.complete = file.seek(at) == at and file.read(len(MAGIC)) == MAGIC
            run = at
            break
    _take(found, file, Block(run, at - run, is_chunk=False, start=0))
    found.end = at
    return found


def _take(found: Contents, file: BinaryIO, block: Block) -> None:
    try:
        if block.size:
            found.take(load(file, block), block)
    except DamageError:
        found.dropped += 1


def load(file: BinaryIO, block: Block) -> bytes:
    """Return the records of a block; raise DamageError where it is damaged."""
    if block.size > MOST_BYTES:
        raise DamageError
    file.seek(block.begin)
    data = file.read(block.size)
    if len(data) < block.size:
        raise DamageError
    return _inflated(data[HEAD.size :]) if block.is_chunk else data


def messages_in(data: bytes) -> Iterator[Message]:
    """Yield the messages of records, as they stand there."""
    for kind, begin, end in records(data):
        if kind == MESSAGE:
            channel, _, time, _ = MESSAGE_HEAD.unpack_from(data, begin)
            yield Message(time, channel, data[begin + MESSAGE_HEAD.size : end])


def records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield kind, begin and end of the content of each record; raise DamageError at a cut one."""
    at = 0
    while at < len(data):
        if at + HEAD.size > len(data):
            raise DamageError
        kind, length = HEAD.unpack_from(data, at)
        begin = at + HEAD.size
        if kind == 0 or length > len(data) - begin:
            raise DamageError
        at = begin + length
        yield kind, begin, at


def _inflated(content: bytes) -> bytes:
    """Return the records in a chunk."""
    try:
        _, _, size, checksum = CHUNK_HEAD.unpack_from(content)
    except struct.error:
        raise DamageError from None
    name, rest = _text(content[CHUNK_HEAD.size :])
    (length,) = struct.unpack_from('<Q', rest) if len(rest) >= 8 else (-1,)
    packed = rest[8 : 8 + max(length, 0)]
    if len(packed) != length or size > MOST_BYTES or name not in UNPACK:
        raise DamageError
    try:
        data = UNPACK[name](packed, size)
    except Exception:  # noqa: BLE001 - each library has its own
        raise DamageError from None
    if len(data) != size or (checksum and zlib.crc32(data) != checksum):
        raise DamageError
    return data


def _from_zstd(packed: bytes, size: int) -> bytes:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415  (comes with rosbags)
    return bytes(zstd.ZstdDecompressor().decompress(packed, size + 1))


def _from_lz4(packed: bytes, size: int) -> bytes:
    from lz4.frame import LZ4FrameDecompressor  # noqa: PLC0415  (comes with rosbags)

    return bytes(LZ4FrameDecompressor().decompress(packed, size + 1))


# No more than the size that is stated, and a byte: a small chunk could fill the memory.
UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    '': lambda packed, _: packed,
    'zstd': _from_zstd,
    'lz4': _from_lz4,
}


def _text(data: bytes) -> tuple[str, bytes]:
    """Return the text at the begin of data, and what follows."""
    length = int.from_bytes(data[:4], 'little')
    if len(data) < 4 + length:
        raise DamageError
    try:
        return data[4 : 4 + length].decode(), data[4 + length :]
    except UnicodeDecodeError:
        raise DamageError from None


def _schema(data: bytes) -> tuple[int, Schema]:
    name, rest = _text(data[2:])
    encoding, rest = _text(rest)
    text, _ = _text(rest)
    return int.from_bytes(data[:2], 'little'), Schema(name, encoding, text)


def _channel(data: bytes) -> tuple[int, Channel]:
    topic, rest = _text(data[4:])
    encoding, _ = _text(rest)
    number, schema = int.from_bytes(data[:2], 'little'), int.from_bytes(data[2:4], 'little')
    return number, Channel(topic, schema, encoding)
