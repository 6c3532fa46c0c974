"""Messages of a recording in MCAP, as far as they are whole; needs rosbags, not ROS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
import heapq
import os
from pathlib import Path
import re
import struct
import sys
from typing import Any, BinaryIO, NamedTuple, TYPE_CHECKING
import zlib

from rolling_dynamics.configuration import open_regular, read_regular
from rolling_dynamics.errors import ParameterError, printable, quoted

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore
    from typing_extensions import Self


MAGIC = b'\x89MCAP0\r\n'
FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK = 0x02, 0x03, 0x04, 0x05, 0x06
HEAD = struct.Struct('<BQ')  # of a record: kind, length of what follows
CHUNK_HEAD = struct.Struct('<QQQI')  # first time, last time, size, checksum
MESSAGE_HEAD = struct.Struct('<HIQQ')  # channel, number, time it was received and sent [ns]
MOST_BYTES = 256 * 1024 * 1024  # of a record and of an unpacked chunk; recorders write some MB
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


class Block(NamedTuple):
    """A stretch of the file: where it stands, whether it is a chunk, and its first time [ns]."""

    begin: int
    size: int
    is_chunk: bool = False
    start: int = 0


class _File:
    """
    Content of a file, read once.

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

    def __init__(self, file: BinaryIO) -> None:
        """Find the intact parts of a file; raise DamageError if it does not start as MCAP."""
        self.file, self.size = file, os.fstat(file.fileno()).st_size
        self.schemas: dict[int, Schema] = {}
        self.channels: dict[int, Channel] = {}
        self.blocks: list[Block] = []
        self.counts: dict[int, int] = {}
        self.dropped, self.complete = 0, False
        if file.read(len(MAGIC)) != MAGIC:
            raise DamageError
        run = at = len(MAGIC)
        while at + HEAD.size <= self.size:
            file.seek(at)
            kind, length = HEAD.unpack(file.read(HEAD.size))
            following = at + HEAD.size + length
            if kind == 0 or following > self.size:
                break
            if kind in {CHUNK, FOOTER} or following - run > RUN:
                self._take(Block(run, at - run))
                run = at
            if kind == CHUNK:
                self._take(Block(at, following - at, is_chunk=True))
                run = following
            at = following
            if kind == FOOTER:
                self.complete = file.seek(at) == at and file.read(len(MAGIC)) == MAGIC
                run = at
                break
        self._take(Block(run, at - run))
        self.end = at

    def _take(self, block: Block) -> None:
        """Take the records of a block, none of them where one is not whole."""
        times, counts = [], dict(self.counts)
        schemas, channels = dict(self.schemas), dict(self.channels)
        try:
            data = self._load(block) if block.size else b''
            for kind, begin, end in records(data):
                if kind == SCHEMA:
                    number, schema = _schema(data[begin:end])
                    schemas.setdefault(number, schema)
                elif kind == CHANNEL:
                    number, channel = _channel(data[begin:end])
                    channels.setdefault(number, channel)
                elif kind == MESSAGE:
                    number, time = _head(data, begin, end)
                    counts[number] = counts.get(number, 0) + 1
                    times.append(time)
        except DamageError:
            self.dropped += 1
            return
        self.schemas, self.channels, self.counts = schemas, channels, counts
        if times:
            self.blocks.append(block._replace(start=min(times)))

    def _load(self, block: Block) -> bytes:
        """Return the records of a block; raise DamageError where it is damaged."""
        if block.size > MOST_BYTES:
            raise DamageError
        self.file.seek(block.begin)
        data = self.file.read(block.size)
        if len(data) < block.size:
            raise DamageError
        return _inflated(data[HEAD.size :]) if block.is_chunk else data

    def messages(self, block: Block, topics: Collection[str]) -> Iterator[tuple[int, str, bytes]]:
        """Yield time [ns], topic and content of the messages in a block, as they stand there."""
        names = {n: c.topic for n, c in self.channels.items() if c.topic in topics}
        data = self._load(block)
        for kind, begin, end in records(data):
            if kind == MESSAGE:
                channel, time = _head(data, begin, end)
                if channel in names:
                    yield time, names[channel], data[begin + MESSAGE_HEAD.size : end]


def _head(data: bytes, begin: int, end: int) -> tuple[int, int]:
    """Return channel and time [ns] of a message, from the start and end of its record."""
    if end - begin < MESSAGE_HEAD.size:
        raise DamageError
    channel, _, time, _ = MESSAGE_HEAD.unpack_from(data, begin)
    return channel, time


def records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield type, start and end of the content of each record; raise DamageError at a cut one."""
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
    """Return the text at the start of data, and the rest."""
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


METADATA, MOST_METADATA = 'metadata.yaml', 10_000_000  # bytes
COMPRESSED = re.compile(rb'compression_mode:\s*["\']?(file|message)', re.IGNORECASE)


class RecordingFile:
    """
    An open recording; a context manager.

    Read are all records that are whole, from the start of each file: a recorder that was killed
    leaves no index, and ``metadata.yaml`` is not needed.

    Attributes
    ----------
    path
        Its folder.
    topics
        Types by topic.
    loss
        What could not be read, or the empty string.

    """

    def __init__(self, path: Path, store: Typestore) -> None:
        """
        Open a recording.

        Parameters
        ----------
        path
            Folder of a recording, or an MCAP file.
        store
            Definitions of the types whose messages are wanted.

        Raises
        ------
        ParameterError
            There is none, or nothing in it is whole.

        """
        self.path = path.parent if path.suffix == '.mcap' else path
        if not self.path.is_dir():
            raise ParameterError(
                f'{path}: there is no such folder; give the folder of a recording'
            )
        self._store, self._same = store, dict[str, bool]()
        self._stack = ExitStack()
        try:
            self._files = [self._open(p) for p in _files(path, self.path)]
        except BaseException:
            self._stack.close()
            raise
        self.topics: dict[str, str] = {}
        self._schemas: dict[str, Schema] = {}
        for schema, topic in self._channels():
            if self.topics.setdefault(topic, schema.name) != schema.name:
                self._stack.close()
                raise ParameterError(
                    f'{path}: {quoted(topic)} was recorded with the types '
                    f'{quoted(self.topics[topic])} and {quoted(schema.name)}; record one of them'
                )
            self._schemas[topic] = schema
        self.loss = self._loss_text()
        if not any(sum(f.counts.values()) for f in self._files) and self.loss:
            self._stack.close()
            raise ParameterError(f'{path}: is not a readable recording: {self.loss}')

    def __enter__(self) -> Self:
        """Return the recording."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._stack.close()

    def count(self, topic: str) -> int:
        """Return the number of messages of a topic."""
        return sum(
            found.counts.get(number, 0)
            for found in self._files
            for number, channel in found.channels.items()
            if channel.topic == topic
        )

    def raw(self, topics: Collection[str]) -> Iterator[tuple[str, int, bytes]]:
        """
        Yield topic, time of arrival [ns] and serialized message, in the order of arrival.

        Blocks overlap in time; a message waits until no later block can hold an earlier one.
        """
        blocks = sorted(
            (block.start, k, block.begin, block)
            for k, found in enumerate(self._files)
            for block in found.blocks
        )
        waiting: list[tuple[int, int, str, bytes]] = []
        count = 0
        for start, k, _, block in blocks:
            while waiting and waiting[0][0] < start:
                time, _, topic, data = heapq.heappop(waiting)
                yield topic, time, data
            try:
                for time, topic, data in self._files[k].messages(block, topics):
                    count += 1
                    heapq.heappush(waiting, (time, count, topic, data))
            except DamageError:
                raise ParameterError(f'{self.path}: changed while it was read') from None
        while waiting:
            time, _, topic, data = heapq.heappop(waiting)
            yield topic, time, data

    def deserialize(self, topic: str, data: bytes) -> Any:  # noqa: ANN401  made at run time
        """
        Return a message of a topic.

        Raises
        ------
        ParameterError
            Its type is not known here, was another when it was recorded, or it is damaged.

        """
        kind = self.topics[topic]
        if kind not in self._same:
            self._same[kind] = _is_same(self._schemas[topic], self._store)
        if not self._same[kind]:
            raise ParameterError(
                f'{self.path}: {quoted(topic)} is of the type {quoted(kind)}, which is not known '
                'here or has another definition; read it with the installation that recorded it'
            )
        try:
            return self._store.deserialize_cdr(data, kind)
        except Exception as error:  # noqa: BLE001 - reads generated code
            raise ParameterError(
                f'{self.path}: a message on {quoted(topic)} is damaged: {printable(error, 200)}'
            ) from None

    def _open(self, path: Path) -> _File:
        try:
            return _File(self._stack.enter_context(open_regular(path)))
        except DamageError:
            raise ParameterError(
                f'{path}: is not a readable recording: it is not MCAP; `rolling record` and '
                '`ros2 bag record` make one'
            ) from None

    def _channels(self) -> Iterator[tuple[Schema, str]]:
        for found in self._files:
            for channel in found.channels.values():
                schema = found.schemas.get(channel.schema)
                if schema is not None and channel.encoding == 'cdr':
                    yield schema, channel.topic

    def _loss_text(self) -> str:
        """Return a text about the unreadable and the readable parts."""
        parts = []
        for found in self._files:
            name = Path(str(found.file.name)).name if len(self._files) > 1 else 'it'
            if not found.complete:
                place = f'byte {found.end} of {found.size}'
                parts.append(f'{name} was not closed, or is cut, and ends at {place}')
            if found.dropped:
                parts.append(f'{found.dropped} damaged stretches of {name} are left out')
            lost = sum(n for k, n in found.counts.items() if k not in found.channels)
            if lost:
                parts.append(f'{lost} messages are of no topic that is known')
        if not parts:
            return ''
        count = sum(map(self.count, self.topics))
        return f'{"; ".join(parts)}; {count} messages of {len(self.topics)} topics are whole'


def _files(path: Path, folder: Path) -> list[Path]:
    """Return the MCAP files of a recording."""
    found = [path] if path.suffix == '.mcap' else sorted(folder.glob('*.mcap'))
    if not found:
        hint = '; it is in SQLite, `ros2 bag convert` makes MCAP of it' * any(folder.glob('*.db3'))
        raise ParameterError(
            f'{path}: is not a readable recording: there is no file *.mcap{hint}; '
            '`rolling record` and `ros2 bag record` make one'
        )
    metadata = folder / METADATA
    mode = metadata.exists() and COMPRESSED.search(read_regular(metadata, MOST_METADATA))
    if mode:
        raise ParameterError(
            f'{path}: is compressed by {mode[1].decode()}, only chunks may be; `ros2 bag convert` '
            'makes such a recording of it'
        )
    return found


def _is_same(schema: Schema, store: Typestore) -> bool:
    """Return whether a recording and the store have the same definition; it is not executed."""
    from rosbags.typesys import get_types_from_idl, get_types_from_msg  # noqa: PLC0415  (heavy)

    if schema.name not in store.fielddefs:
        return False
    try:
        if schema.encoding == 'ros2msg':
            types = get_types_from_msg(schema.text, schema.name)
        else:
            types = {}
            for text in filter(str.strip, re.split(r'=+\nIDL: [^\n]*\n', schema.text)):
                types.update(get_types_from_idl(text))
    except Exception:  # noqa: BLE001 - a damaged text
        return False
    return all(
        name in store.fielddefs and _fields(fields) == _fields(store.fielddefs[name][1])
        for name, (_, fields) in types.items()
    )


def _fields(fields: Any) -> list[tuple[str, Any]]:  # noqa: ANN401  trees of rosbags
    return [(name.lower(), kind) for name, kind in fields]
