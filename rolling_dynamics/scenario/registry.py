"""Which reader understands the scenario of which system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.document import plain, read_document
from rolling_dynamics.scenario.scenario import Scenario
from rolling_dynamics.scenario.validation import check
from rolling_dynamics.suggestion import suggestion


@dataclass(frozen=True)
class ScenarioReader:
    """
    Reader of the scenarios of one system.

    Attributes
    ----------
    schema
        Returns the JSON schema of its documents.
    read
        ``(document, default name) -> Scenario``; raises ScenarioError.

    """

    schema: Callable[[], dict[str, Any]]
    read: Callable[[dict[str, Any], str], Scenario]


def _reader_of(module: str, schema: str, read: str) -> ScenarioReader:
    """Return a reader whose module is loaded when its first scenario comes."""

    def call(name: str, *given: Any) -> Any:  # noqa: ANN401  schema and reader differ
        return getattr(import_module(f'rolling_dynamics.scenario.{module}'), name)(*given)

    return ScenarioReader(partial(call, schema), partial(call, read))


READERS: dict[str, ScenarioReader] = {
    'contact': _reader_of('contact', 'contact_schema', 'read_contact'),
    'point_mass_ball': _reader_of('point_mass', 'ball_schema', 'read_ball'),
    'point_mass_disk': _reader_of('point_mass', 'disk_schema', 'read_disk'),
    'pendulum_sphere': _reader_of(
        'pendulum_sphere', 'pendulum_sphere_schema', 'read_pendulum_sphere'
    ),
    'spin_rolling_sphere': _reader_of(
        'spin_rolling_sphere', 'spin_rolling_schema', 'read_spin_rolling'
    ),
}


def register_reader(system: str, reader: ScenarioReader) -> None:
    """Let ``load_scenario`` read the scenarios of another system."""
    READERS[system] = reader


def load_scenario(source: str | Path | Mapping[str, Any], name: str = 'scenario') -> Scenario:
    """
    Return the scenario of a YAML file, or of a mapping with the same entries.

    Parameters
    ----------
    source
        Path of a file, name of an example (``'spinning_plate'``), or a mapping.
    name
        Name of a mapping that gives none; a file's is its stem.

    Returns
    -------
    Scenario
        Checked and ready to run.

    Raises
    ------
    ScenarioError
        An entry is missing, misspelt or out of range; one line for each fault, each beginning with
        the path of its entry.

    """
    if isinstance(source, Mapping):
        document = plain(source, name)
    else:
        document, name = read_document(source), Path(source).stem
    return load_plain(document, name)


def load_plain(document: dict[str, Any], name: str = 'scenario') -> Scenario:
    """Return the scenario of a document that is plain data already, and that nobody changes."""
    return _reader(document).read(document, name)


def check_plain(document: Mapping[str, Any]) -> None:
    """Raise ScenarioError unless each entry of plain data is of its kind and in its range."""
    check(document, schema_of(document))


def schema_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of plain data by its entry ``system``."""
    return _reader(document).schema()


def _reader(document: Mapping[str, Any]) -> ScenarioReader:
    known = list(READERS)
    if 'system' not in document:
        raise ScenarioError(f'system: is missing (kind of rolling system{suggestion("", known)})')
    system = document['system']
    if not isinstance(system, str) or system not in READERS:
        raise ScenarioError(f'system: got {system!r}{suggestion(str(system), known)}')
    return READERS[system]
