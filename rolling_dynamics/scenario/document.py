# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
Reading a YAML document: no key twice, no number that is not finite, no code.

And the line of the file in which the entry stands that an error is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
import math
from pathlib import Path
import re
from typing import Any, cast, TypeVar

import numpy as np
from rolling_dynamics.configuration import find_scenario, read_regular
from rolling_dynamics.errors import ParameterError, ScenarioError
import yaml

MAX_BYTES = 5_000_000
MAX_NODES = 500_000
MAX_DEPTH = 30
Reader = TypeVar('Reader', bound=Callable[..., Any])
PATH = re.compile(r'([\w$]+(?:\[\d+\])*(?:\.[\w$]+(?:\[\d+\])*)*): ')
NUMBERED = re.compile(r'\(line \d+\)$')
LAST = re.compile(r'(\.[\w$]+|\[\d+\]|^[\w$]+)$')


class Document(dict[str, Any]):
    """
    The mapping that a YAML file holds.

    Attributes
    ----------
    lines
        Line of each entry by its path, such as ``masses[0].theta``.

    """

    def __init__(self) -> None:
        """Start empty."""
        super().__init__()
        self.lines: dict[str, int] = {}


def read_document(path: str | Path) -> Document:
    """
    Return the mapping that a YAML file holds.

    Parameters
    ----------
    path
        A path, or the name of an example, see :func:`.find_scenario`.

    Raises
    ------
    ScenarioError
        There is no such file, or it is not a YAML mapping.

    """
    path = find_scenario(path)
    try:
        text = read_regular(path, MAX_BYTES).decode()
    except ParameterError as e:
        raise ScenarioError(str(e)) from None
    except UnicodeDecodeError as e:
        raise ScenarioError(f'{path}: is not text in UTF-8 (byte {e.start})') from None
    document = Document()
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        _add_lines(document.lines, root)
        given = loader.construct_document(root)
    except ScenarioError as e:
        raise ScenarioError(f'{path}: {e}') from None
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark
        where = f'line {mark.line + 1}, column {mark.column + 1}: ' if mark else ''
        raise ScenarioError(f'{path}: {where}is not valid YAML: {e.problem}') from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        text = str(e).splitlines()[0]
        raise ScenarioError(f'{path}: is not valid YAML: {text}') from None
    line_numbers(lambda read: read.update(plain(given, str(path))))(document)
    if 'mesh' in text:
        from rolling_dynamics.scenario.surface_section import with_meshes  # noqa: PLC0415

        with_meshes(document, path.parent)
    return document


def _add_lines(
    lines: dict[str, int], node: yaml.Node | None, path: str = '', depth: int = 0
) -> None:
    """Add the lines of the entries below a node, whose keys are names, each once."""
    if node is None:
        raise ScenarioError('is empty; docs/scenario.md says what a scenario holds')
    if len(lines) > MAX_NODES or depth > MAX_DEPTH:
        raise ScenarioError(f'{path}: too many or too deeply nested entries')
    inside = []
    if isinstance(node, yaml.SequenceNode):
        inside = [(f'{path}[{k}]', value, value) for k, value in enumerate(node.value)]
    elif isinstance(node, yaml.MappingNode):
        keys = set()
        for key, value in node.value:
            place = f'line {key.start_mark.line + 1}'
            if key.tag != 'tag:yaml.org,2002:str':
                raise ScenarioError(f'{place}: a name is needed as key, got {key.value}')
            if key.value in keys:
                raise ScenarioError(f'{place}: duplicate key {key.value!r}; keep one of them')
            keys.add(key.value)
            inside.append((f'{path}.{key.value}' if path else key.value, key, value))
    for own, first, value in inside:
        lines[own] = first.start_mark.line + 1
        _add_lines(lines, value, own, depth + 1)


def plain(document: Any, source: str = 'scenario') -> dict[str, Any]:
    """Return a deep copy made of dict, list, str, bool, int, float, None; all numbers finite."""
    if not isinstance(document, Mapping):
        raise ScenarioError(
            f'{source}: a mapping of entries such as "system: contact" is needed, got '
            f'{shorten(document)}'
        )
    result: dict[str, Any] = _plain(document, '', 0)
    return result


def _plain(value: Any, path: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ScenarioError(f'{path}: too deeply nested entries')
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {
            str(k): _plain(v, f'{path}.{k}' if path else str(k), depth + 1)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(v, f'{path}[{k}]', depth + 1) for k, v in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f'{path}: must be a finite number, got {value}')
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    raise ScenarioError(f'{path}: a number, a text, a list or a mapping is needed, got {value!r}')


def shorten(value: Any, length: int = 60) -> str:
    """Return a value as shown in a message."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + '...'


def line_numbers(read: Reader) -> Reader:
    """Add the line of an entry to each line of an error of what reads a document or a part."""

    @wraps(read)
    def numbered(given: Any, *args: Any, **options: Any) -> Any:
        try:
            return read(given, *args, **options)
        except ScenarioError as error:
            known = getattr(getattr(given, 'raw', given), 'lines', {})
            lines = [_with_line(text, known) for text in str(error).splitlines()]
            raise ScenarioError('\n'.join(lines)) from None

    return cast('Reader', numbered)


def _with_line(text: str, known: Mapping[str, int]) -> str:
    """Return a line of an error with the line of its entry, or of the mapping that lacks it."""
    begin = PATH.match(text)
    path = begin[1] if begin and not NUMBERED.search(text) else ''
    while path and path not in known:
        path = LAST.sub('', path)
    return f'{text} (line {known[path]})' if path else text
