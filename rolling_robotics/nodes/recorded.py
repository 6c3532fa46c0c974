"""What a recording holds: messages by topic, wherever the namespace was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from rolling_dynamics.errors import ParameterError
from rolling_robotics.nodes.recording import typestore_with
from rosbags.highlevel import AnyReader, AnyReaderError


class Recorded:
    """An open recording; a context manager."""

    def __init__(self, path: Path) -> None:
        """
        Open a recording.

        Parameters
        ----------
        path
            Folder of a recording, or the MCAP file in it.

        Raises
        ------
        ParameterError
            There is none, or it is damaged.

        """
        self.path = path.parent if path.suffix == '.mcap' else path
        if not self.path.is_dir():
            raise ParameterError(f'{path}: there is no such folder; give that of a recording')
        try:
            self._reader = AnyReader(
                [self.path], default_typestore=typestore_with(['rolling_interfaces'])
            )
            self._reader.open()
        except (AnyReaderError, OSError, ValueError, KeyError) as error:
            raise ParameterError(
                f'{path}: is no recording that can be read: {error}; `rolling record` and '
                '`ros2 bag record` make one'
            ) from None

    def __enter__(self) -> Recorded:  # noqa: PYI034  Self needs Python 3.11
        """Return the recording."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._reader.close()

    @property
    def topics(self) -> dict[str, str]:
        """Types by topic."""
        return {c.topic: str(c.msgtype) for c in self._reader.connections}

    def topic(self, name: str) -> str | None:
        """Return the full name of a topic that ends in a name, or None; several are refused."""
        found = [t for t in self.topics if t == name or t.endswith(f'/{name}')]
        if len(found) > 1:
            raise ParameterError(
                f'{self.path}: holds {", ".join(sorted(found))}; record one namespace alone'
            )
        return found[0] if found else None

    def raw(self, names: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yield name, time of arrival [ns] and serialized message, in the order of arrival."""
        full = {self.topic(n): n for n in names}
        connections = [c for c in self._reader.connections if c.topic in full]
        for connection, stamp, data in self._reader.messages(connections) if connections else ():
            yield full[connection.topic], stamp, data

    def messages(self, names: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
        """Yield name, time of arrival [ns] and message, in the order of arrival."""
        for name, stamp, data in self.raw(names):
            topic = self.topic(name) or name
            yield name, stamp, self._reader.deserialize(data, self.topics[topic])
