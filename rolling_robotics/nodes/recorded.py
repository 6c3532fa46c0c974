"""Content of a recording: messages by topic, wherever the namespace was."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
import json
from pathlib import Path
from typing import Any

from rolling_dynamics.configuration import find_installed
from rolling_dynamics.errors import ParameterError, printable, quoted
from rolling_node_kit.parameters import (
    FINGERPRINT,
    FORMAT,
    NEWEST_FORMAT,
    Parameter,
    parameter_values,
)
from rolling_robotics.recordings.recording_file import RecordingFile
from rolling_robotics.recordings.writer import typestore_with

Table = Sequence[Parameter]
# what controllers and estimators of version 0 or 1 of the format did not report
NOT_REPORTED: dict[str, Any] = {
    FINGERPRINT: '',
    'finite_limits': False,
    'estimate_state': False,
    'task': 'execution',
}


class Recorded(RecordingFile):
    """An open recording, whose topics are named without the namespace; a context manager."""

    def __init__(self, path: Path, scenario: Path | None = None) -> None:
        """
        Open a recording.

        Parameters
        ----------
        path
            Folder of a recording, or the MCAP file in it.
        scenario
            File of the scenario that was recorded. A recording names one, which is only taken if
            it is one of those that are installed with the suite.

        Raises
        ------
        ParameterError
            There is none, or nothing in it is whole.

        """
        self._scenario = scenario
        super().__init__(path, typestore_with(['rolling_interfaces']))

    def topic(self, name: str) -> str | None:
        """Return the full name of a topic that ends in a name, or None; several are rejected."""
        found = [t for t in self.topics if t == name or t.endswith(f'/{name}')]
        if len(found) > 1:
            raise ParameterError(
                f'{self.path}: holds {printable(", ".join(sorted(found)))}; record one namespace '
                'alone'
            )
        return found[0] if found else None

    def raw(self, topics: Collection[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yield name, time of arrival [ns] and serialized message, in the order of arrival."""
        full = {topic: n for n in topics if (topic := self.topic(n)) is not None}
        for topic, stamp, data in super().raw(full) if full else ():
            yield full[topic], stamp, data

    def messages(self, names: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
        """Yield name, time of arrival [ns] and message, in the order of arrival."""
        for name, stamp, data in self.raw(names):
            yield name, stamp, self.deserialize(self.topic(name), data)

    def settings(
        self, name: str, table: Table | Callable[[dict[str, Any]], Table]
    ) -> list[dict[str, Any]]:
        """
        Return the parameters of a node, as it published them, with a file to read.

        Parameters
        ----------
        name
            Topic.
        table
            Its parameters, or what returns them for the values; those that are there are checked
            for type and range.

        Raises
        ------
        ParameterError
            One of them will not do, or the scenario is not of the suite and was not given.

        """
        return [
            self._checked(self._values(m, name), name, table) for _, _, m in self.messages([name])
        ]

    def _values(self, message: Any, name: str) -> dict[str, Any]:
        """Return parameters by name from a message; version 0.1 sent JSON in a String."""
        if not hasattr(message, 'data'):
            return parameter_values(message)
        try:
            values = json.loads(message.data)
        except (ValueError, RecursionError) as error:
            raise ParameterError(
                f'{self.path}: {name} is not JSON: {printable(error, 200)}'
            ) from None
        if not isinstance(values, dict):
            raise ParameterError(f'{self.path}: {name} is not a mapping: {quoted(values)}')
        return values

    def _checked(
        self, values: dict[str, Any], name: str, table: Table | Callable[[dict[str, Any]], Table]
    ) -> dict[str, Any]:
        made = values.get(FORMAT, 0)
        if not isinstance(made, int) or made > NEWEST_FORMAT:
            raise ParameterError(
                f'{self.path}: {name}: has version {printable(str(made), 20)} of its format; '
                f'this suite replays up to {NEWEST_FORMAT}: use the one that recorded it, or a '
                'newer one'
            )
        values = _converted(values, made)
        if 'scenario_file' in values:
            values['scenario_file'] = str(self._scenario or self._installed(values))
        for entry in table(values) if callable(table) else table:
            problem = _problem(entry, values[entry.name]) if entry.name in values else None
            if problem:
                raise ParameterError(f'{self.path}: {name}: {problem}')
        return values

    def _installed(self, values: dict[str, Any]) -> Path:
        name = str(values['scenario_file'])
        found = find_installed(name)
        if found is None:
            raise ParameterError(
                f'{self.path}: was made with the scenario {quoted(name)}, which is not installed '
                'with the suite; a file that a recording names is not opened, '
                'give it with --scenario FILE'
            )
        return found


def _converted(values: dict[str, Any], made: int) -> dict[str, Any]:
    """Return the parameters of a version of the format as the newest one has them."""
    return NOT_REPORTED | values if made < NEWEST_FORMAT else values


def _problem(entry: Parameter, value: Any) -> str | None:
    """Return the error of a recorded parameter, or None."""
    wanted: Any = entry.default
    listed = isinstance(wanted, list)
    fine = isinstance(value, list) == listed and all(
        _is_kind(v, wanted[0] if listed else wanted) for v in (value if listed else [value])
    )
    return entry.problem(value) if fine else f'{entry.name} must be as {wanted!r}: {quoted(value)}'


def _is_kind(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(wanted)
