"""Writing recordings, with the types of the messages in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import importlib
import math
import os
from pathlib import Path
import queue
import re
import sys
import threading
import time
from typing import Any, Literal

from rolling_dynamics.errors import ParameterError, quoted, RollingError
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore

INTERFACES = 'ament_index/resource_index/rosidl_interfaces'
MESSAGE_NAME = re.compile(r'([a-z][a-z0-9_]*)/msg/([A-Z][A-Za-z0-9]*)', re.ASCII)


def share_folders() -> Iterator[Path]:
    """Yield the share folders of sourced workspaces, then of Python's environment."""
    for prefix in (*os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep), sys.prefix):
        if prefix and Path(prefix, 'share').is_dir():
            yield Path(prefix, 'share')


def message_class(kind: str) -> type:
    """
    Return the class of a message.

    Only interfaces that the ament index lists are imported, so that a name from the graph cannot
    run an arbitrary module in the path.

    Parameters
    ----------
    kind
        Name of the type, ``package/msg/Name``.

    Raises
    ------
    ParameterError
        The name is invalid, the index does not list it, or its package cannot be imported.

    """
    found = MESSAGE_NAME.fullmatch(kind)
    if found is None:
        raise ParameterError(f'type {quoted(kind)} is not a name such as std_msgs/msg/String')
    package, name = found.groups()
    if not any(name in _listed(root, package) for root in share_folders()):
        raise ParameterError(f'type {quoted(kind)} is not known here; the ament index lacks it')
    try:
        out: type = getattr(importlib.import_module(f'{package}.msg'), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f'type {quoted(kind)} cannot be loaded: {error}') from None
    return out


def _listed(root: Path, package: str) -> set[str]:
    """Return the messages that the index of a share folder lists for a package."""
    path = root / INTERFACES / package
    if not path.is_file():
        return set()
    entries = (Path(line.strip()) for line in path.read_text(encoding='utf-8').splitlines())
    return {entry.stem for entry in entries if entry.parent.name == 'msg'}


VERSION: Literal[9] = 9  # of the metadata
FLUSH_PERIOD = 1.0  # s, between two moments at which all that was written is in the file
FOREVER = QosTime(sec=2147483647, nsec=4294967295)


class RecordingError(RollingError):
    """A recording cannot be written."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic to record: name, type as ``package/msg/Name``, and whether it is latched."""

    name: str
    kind: str
    latched: bool


def typestore_with(packages: Sequence[str]) -> Typestore:
    """Return the store of the common types and of those that these packages define."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {}
    for package in packages:
        for root in share_folders():
            for path in sorted(Path(root, package, 'msg').glob('*.msg')):
                name = f'{package}/msg/{path.stem}'
                if name not in store.fielddefs:
                    types.update(get_types_from_msg(path.read_text(), name))
    store.register(types)
    return store


def offered_qos(topic: Topic) -> Qos:
    """Return the profile that a player offers for a topic."""
    return Qos(
        QosHistory.KEEP_LAST,
        1 if topic.latched else 10,
        QosReliability.RELIABLE,
        QosDurability.TRANSIENT_LOCAL if topic.latched else QosDurability.VOLATILE,
        FOREVER,
        FOREVER,
        QosLiveliness.AUTOMATIC,
        FOREVER,
        False,
    )


def rate_limits(given: Sequence[str]) -> dict[str, float]:
    """
    Return the maximum rates [Hz] by topic of entries TOPIC=RATE.

    Raises
    ------
    RecordingError
        One of them is not valid.

    """
    limits: dict[str, float] = {}
    for entry in (e for e in given if e):
        topic, _, text = entry.partition('=')
        try:
            rate = float(text)
        except ValueError:
            rate = 0.0
        if not (topic and 0.0 < rate < math.inf):
            raise RecordingError(
                f'rate_limits takes TOPIC=RATE in Hz, for example hand/odometry=100; got '
                f'{quoted(entry)}'
            )
        limits[topic] = rate
    return limits


class Thinning:
    """Chooses the messages of a topic that are kept where it is faster than a rate [Hz]."""

    def __init__(self, rate: float) -> None:
        """Keep the first message."""
        self._period, self._due = 1e9 / rate, -math.inf

    def keeps(self, stamp: int) -> bool:
        """Return whether a message received at a time [ns] is kept; on average the rate is met."""
        if stamp < self._due:
            return False
        late = stamp - self._due
        self._due = (self._due if late < self._period else stamp) + self._period
        return True


class Recording:
    """An open recording; messages are queued and written by a thread."""

    def __init__(self, folder: Path, packages: Sequence[str], *, longest_queue: int) -> None:
        """
        Open the recording.

        Parameters
        ----------
        folder
            Folder to make; must not exist.
        packages
            Packages whose message types are not common ones.
        longest_queue
            Messages that may wait; more are dropped and counted.

        Raises
        ------
        RecordingError
            The folder exists or cannot be made.

        """
        self._store = typestore_with(packages)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._writer = Writer(folder, version=VERSION, storage_plugin=StoragePlugin.MCAP)
            self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
            self._writer.open()
        except Exception as error:  # noqa: BLE001 - the writer has many
            raise RecordingError(f'cannot record into {folder}: {error}') from None
        self.folder = folder
        self.written = 0
        self.dropped = 0
        self.fault = ''
        self._flushed = 0  # messages in the file
        self._lock = threading.Lock()  # topics are added while messages are written
        self._queue: queue.Queue[tuple[str, int, bytes] | None] = queue.Queue(longest_queue)
        self._connections: dict[str, Connection] = {}
        self._thread = threading.Thread(target=self._write, name='recording', daemon=True)
        self._thread.start()

    def check(self, kind: str) -> None:
        """Raise RecordingError if a type is not known here."""
        if kind not in self._store.fielddefs:
            raise RecordingError(f'type {quoted(kind)} is not known here')

    def add(self, topic: Topic) -> None:
        """Prepare to record a topic; errors as in :meth:`check`."""
        self.check(topic.kind)
        with self._lock:
            self._connections[topic.name] = self._writer.add_connection(
                topic.name,
                topic.kind,
                typestore=self._store,
                offered_qos_profiles=[offered_qos(topic)],
            )

    def put(self, topic: str, stamp: int, data: bytes) -> None:
        """Queue a message received at a time [ns]."""
        try:
            self._queue.put_nowait((topic, stamp, data))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Write the queue and close the file."""
        self._queue.put(None)
        self._thread.join()
        self._writer.close()

    def _write(self) -> None:
        flushed = time.monotonic()
        while True:
            try:
                item = self._queue.get(timeout=FLUSH_PERIOD)
                if item is None:
                    return
                topic, stamp, data = item
                with self._lock:
                    self._writer.write(self._connections[topic], stamp, data)
                self.written += 1
            except queue.Empty:
                pass
            except Exception as error:  # noqa: BLE001 - reported in the diagnostics
                self.fault = f'{type(error).__name__}: {error}'
                self.dropped += 1
            if time.monotonic() - flushed > FLUSH_PERIOD:
                flushed = time.monotonic()
                self._flush()

    def _flush(self) -> None:
        """Close the chunk at work, so that a recorder that is killed loses a second at most."""
        storage: Any = self._writer.storage
        if self.written > self._flushed:
            self._flushed = self.written
            with self._lock:
                storage.close_chunk()
                storage.bio.flush()
