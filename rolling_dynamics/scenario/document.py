# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
Reading a YAML document: no key twice, no number that is none, no code.

And the line of the file in which the entry stands that an error is about.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import wraps
import math
from pathlib import Path
import re
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from rolling_dynamics.configuration import find_scenario, read_regular
from rolling_dynamics.errors import ParameterError, ScenarioError
import yaml

MAX_BYTES = 5_000_000
MAX_NODES = 500_000
MAX_DEPTH = 30
P = ParamSpec('P')
Given = TypeVar('Given')
Out = TypeVar('Out')
PATH = re.compile(r'([\w$]+(?:\[\d+\])*(?:\.[\w$]+(?:\[\d+\])*)*): ')
TOLD = re.compile(r'\(line \d+\)$')
LAST = re.compile(r'(\.[\w$]+|\[\d+\]|^[\w$]+)$')


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a key may stand once in a mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that stands twice."""
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise ScenarioError(f'{_place(key_node)}: a name is needed as key, got {key!r}')
            if key in seen:
                raise ScenarioError(f'{_place(key_node)}: duplicate key {key!r}; keep one of them')
            seen.add(key)
        return super().construct_mapping(node, deep)


def _place(node: yaml.Node) -> str:
    return f'line {node.start_mark.line + 1}'


class Document(dict[str, Any]):
    """
    The mapping that a YAML file holds.

    Attributes
    ----------
    source
        The file.

    """

    source: Path | None = None


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
    document.source = path
    given = _parsed(text, str(path))
    tells_lines(lambda read: read.update(plain(given, str(path))))(document)
    if 'mesh' in text:
        from rolling_dynamics.scenario.surface_section import with_meshes  # noqa: PLC0415

        with_meshes(document, path.parent)
    return document


def _parsed(text: str, source: str) -> Any:
    """Return what a YAML text holds, which is not empty; ``source`` names it in errors."""
    try:
        document = yaml.load(text, Loader=_Loader)  # noqa: S506 (derived from SafeLoader)
    except ScenarioError as e:
        raise ScenarioError(f'{source}: {e}') from None
    except yaml.YAMLError as e:
        mark = getattr(e, 'problem_mark', None)
        where = f'line {mark.line + 1}, column {mark.column + 1}: ' if mark else ''
        problem = getattr(e, 'problem', None) or str(e).splitlines()[0]
        raise ScenarioError(f'{source}: {where}is not valid YAML: {problem}') from None
    except (ValueError, RecursionError) as e:
        raise ScenarioError(f'{source}: is not valid YAML: {e}') from None
    if document is None:
        raise ScenarioError(f'{source}: is empty; docs/scenario.md says what a scenario holds')
    return document


def plain(document: Any, source: str = 'scenario') -> dict[str, Any]:
    """Return a deep copy made of dict, list, str, bool, int, float, None; all numbers finite."""
    if not isinstance(document, Mapping):
        raise ScenarioError(
            f'{source}: a mapping of entries such as "system: contact" is needed, got '
            f'{shorten(document)}'
        )
    result: dict[str, Any] = _plain(document, '', [0], 0)
    return result


def _plain(value: Any, path: str, count: list[int], depth: int) -> Any:
    count[0] += 1
    if count[0] > MAX_NODES or depth > MAX_DEPTH:
        raise ScenarioError(f'{path}: too many or too deeply nested entries')
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {
            str(k): _plain(v, f'{path}.{k}' if path else str(k), count, depth + 1)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(v, f'{path}[{k}]', count, depth + 1) for k, v in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        raise ScenarioError(f'{path}: must be a finite number, got {value}')
    if isinstance(value, str | bool | int | float) or value is None:
        return value
    raise ScenarioError(f'{path}: a number, a text, a list or a mapping is needed, got {value!r}')


def shorten(value: Any, length: int = 60) -> str:
    """Return a value as it stands in a message."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + '...'


def tells_lines(
    read: Callable[Concatenate[Given, P], Out],
) -> Callable[Concatenate[Given, P], Out]:
    """Put the line of an entry behind each line of an error of what reads a document or part."""

    @wraps(read)
    def told(given: Given, /, *args: P.args, **options: P.kwargs) -> Out:
        try:
            return read(given, *args, **options)
        except ScenarioError as error:
            source = getattr(getattr(given, 'raw', given), 'source', None)
            if source is None:
                raise
            known = _lines_of(source)
            lines = [_with_line(text, known) for text in str(error).splitlines()]
            raise ScenarioError('\n'.join(lines)) from None

    return told


def _with_line(text: str, known: Mapping[str, int]) -> str:
    """Return a line of an error with that of its entry, or of the mapping that lacks it."""
    begin = PATH.match(text)
    path = begin[1] if begin and not TOLD.search(text) else ''
    while path and path not in known:
        path = LAST.sub('', path)
    return f'{text} (line {known[path]})' if path else text


def _lines_of(source: Path) -> dict[str, int]:
    """Return the line of each entry by its path; none if the file has changed meanwhile."""
    out: dict[str, int] = {}

    def walk(node: yaml.Node | None, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            return
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner = f'{path}.{key.value}' if path else str(key.value)
                out[inner] = key.start_mark.line + 1
                walk(value, inner, depth + 1)
        elif isinstance(node, yaml.SequenceNode):
            for k, value in enumerate(node.value):
                out[f'{path}[{k}]'] = value.start_mark.line + 1
                walk(value, f'{path}[{k}]', depth + 1)

    try:
        walk(yaml.compose(source.read_text(encoding='utf-8'), yaml.SafeLoader), '', 0)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return out
