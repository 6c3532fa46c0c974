"""Which reader understands the scenario of which system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.plugin import others, plugins, register_role, role_of
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


def register_reader(system: str, reader: ScenarioReader) -> None:
    """Let ``load_scenario`` read the scenarios of another system; deprecated, see plug-ins."""
    register_role(system, reader=reader)


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
    if 'system' not in document:
        known = suggestion('', list(plugins()))
        raise ScenarioError(f'system: is missing (kind of rolling system{known})')
    system = document['system']
    reader: ScenarioReader | None = None
    if isinstance(system, str):
        reader = role_of(system, 'reader')
    if reader is None:
        raise ScenarioError(f'system: got {system!r}{others(str(system))}')
    return reader
