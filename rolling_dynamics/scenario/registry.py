"""Reading scenarios: the plug-in of a system names the model of its documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.plugin import others, plugins, role_of
from rolling_dynamics.scenario.common import ScenarioFile
from rolling_dynamics.scenario.document import plain, read_document, shorten, tells_lines
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.scenario import Scenario
from rolling_dynamics.suggestion import suggestion


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
        the path of its entry and ending with the line of the file.

    """
    if isinstance(source, Mapping):
        return load_plain(plain(source, name), name)
    return load_plain(read_document(source), Path(source).stem)


@tells_lines
def load_plain(document: dict[str, Any], name: str = 'scenario') -> Scenario:
    """Return the scenario of a document that is plain data already, and that nobody changes."""
    return check(model_of(document), document).build(name, document)


def check_plain(document: Mapping[str, Any]) -> None:
    """Raise ScenarioError unless each entry of plain data is of its kind and in its range."""
    check(model_of(document), document)


def model_of(document: Mapping[str, Any]) -> type[ScenarioFile]:
    """Return the model of plain data by its entry ``system``."""
    if 'system' not in document:
        known = suggestion('', list(plugins()))
        raise ScenarioError(f'system: is missing (kind of rolling system{known})')
    system = document['system']
    model: type[ScenarioFile] | None = None
    if isinstance(system, str):
        model = role_of(system, 'scenario')
    if model is None:
        raise ScenarioError(f'system: got {shorten(system)}{others(str(system), "scenario")}')
    return model
