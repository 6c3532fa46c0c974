"""Messages of a recording in MCAP, as far as they are whole; needs rosbags, not ROS."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, ExitStack
import heapq
import os
from pathlib import Path
import re
from typing import Any, BinaryIO, NamedTuple, TYPE_CHECKING

from rolling_dynamics.configuration import open_regular, read_regular
from rolling_dynamics.errors import ParameterError, printable, quoted
from rolling_robotics.recordings.mcap_records import (
    Block,
    Contents,
    DamageError,
    load,
    Message,
    messages_in,
    scan,
    Schema,
)

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

METADATA, MOST_METADATA = 'metadata.yaml', 10_000_000  # bytes
COMPRESSED = re.compile(rb'compression_mode:\s*["\']?(file|message)', re.IGNORECASE)


class _File(NamedTuple):
    """A file of a recording."""

    file: BinaryIO
    size: int
    contents: Contents


class RecordingFile(AbstractContextManager['RecordingFile']):
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
            raise ParameterError(f'{path}: there is no such folder; give that of a recording')
        self._store, self._same = store, dict[str, bool]()
        self._stack = ExitStack()
        try:
            self._files = [self._open(p) for p in _files(path, self.path)]
        except BaseException:
            self._stack.close()
            raise
        self.topics: dict[str, str] = {}
        self._schemas: dict[str, Schema] = {}
        for _, schema, topic in self._channels():
            if self.topics.setdefault(topic, schema.name) != schema.name:
                self._stack.close()
                raise ParameterError(
                    f'{path}: {quoted(topic)} was recorded with the types '
                    f'{quoted(self.topics[topic])} and {quoted(schema.name)}; record one of them'
                )
            self._schemas[topic] = schema
        self.loss = self._told()
        if not any(sum(f.contents.counts.values()) for f in self._files) and self.loss:
            self._stack.close()
            raise ParameterError(f'{path}: is not a readable recording: {self.loss}')

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._stack.close()

    def count(self, topic: str) -> int:
        """Return the number of messages of a topic."""
        return sum(
            found.contents.counts.get(number, 0)
            for found in self._files
            for number, channel in found.contents.channels.items()
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
            for block in found.contents.blocks
        )
        waiting: list[tuple[int, int, str, bytes]] = []
        count = 0
        for start, k, _, block in blocks:
            while waiting and waiting[0][0] < start:
                time, _, topic, data = heapq.heappop(waiting)
                yield topic, time, data
            for message, topic in self._messages(self._files[k], block, topics):
                count += 1
                heapq.heappush(waiting, (message.time, count, topic, message.data))
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
        except Exception as error:  # noqa: BLE001 - what is read is generated code
            raise ParameterError(
                f'{self.path}: a message on {quoted(topic)} is damaged: {printable(error, 200)}'
            ) from None

    def _open(self, path: Path) -> _File:
        file = self._stack.enter_context(open_regular(path))
        size = os.fstat(file.fileno()).st_size
        try:
            return _File(file, size, scan(file, size))
        except DamageError:
            raise ParameterError(
                f'{path}: is not a readable recording: it is not MCAP; `rolling record` and '
                '`ros2 bag record` make one'
            ) from None

    def _channels(self) -> Iterator[tuple[_File, Schema, str]]:
        for found in self._files:
            for channel in found.contents.channels.values():
                schema = found.contents.schemas.get(channel.schema)
                if schema is not None and channel.encoding == 'cdr':
                    yield found, schema, channel.topic

    def _messages(
        self, found: _File, block: Block, topics: Collection[str]
    ) -> Iterator[tuple[Message, str]]:
        names = {n: c.topic for n, c in found.contents.channels.items() if c.topic in topics}
        try:
            for message in messages_in(load(found.file, block)):
                if message.channel in names:
                    yield message, names[message.channel]
        except DamageError:
            raise ParameterError(f'{self.path}: changed while it was read') from None

    def _told(self) -> str:
        """Return what could not be read, and what is."""
        parts = []
        for found in self._files:
            contents = found.contents
            name = Path(str(found.file.name)).name if len(self._files) > 1 else 'it'
            if not contents.complete:
                place = f'byte {contents.end} of {found.size}'
                parts.append(f'{name} was not closed, or is cut, and ends at {place}')
            if contents.dropped:
                parts.append(f'{contents.dropped} damaged stretches of {name} are left out')
            lost = sum(n for k, n in contents.counts.items() if k not in contents.channels)
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
    """Return whether the definition in a recording is that of the store; it is not executed."""
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
