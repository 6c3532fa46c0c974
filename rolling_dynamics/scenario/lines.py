"""The line of a file in which the entry stands that an error is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
import re
from typing import Any, Concatenate, ParamSpec, TypeVar

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.document import Document, MAX_DEPTH
import yaml

P = ParamSpec('P')
Given = TypeVar('Given')
Out = TypeVar('Out')
PATH = re.compile(r'([\w$]+(?:\[\d+\])*(?:\.[\w$]+(?:\[\d+\])*)*): ')
TOLD = re.compile(r'\(line \d+\)$')
LAST = re.compile(r'(\.[\w$]+|\[\d+\]|^[\w$]+)$')


@contextmanager
def lines_told(document: object) -> Iterator[None]:
    """Put the line of an entry behind each line of an error that begins with its path."""
    try:
        yield
    except ScenarioError as error:
        source = document.source if isinstance(document, Document) else None
        if source is None:
            raise
        known = _lines_of(source)
        raise ScenarioError(
            '\n'.join(_with_line(text, known) for text in str(error).splitlines())
        ) from None


def tells_lines(
    read: Callable[Concatenate[Given, P], Out],
) -> Callable[Concatenate[Given, P], Out]:
    """Let what reads a part of a document, or of a scenario, tell the lines of its errors."""

    @wraps(read)
    def told(given: Given, /, *args: P.args, **options: P.kwargs) -> Out:
        document: Any = getattr(given, 'raw', None)
        with lines_told(given if document is None else document):
            return read(given, *args, **options)

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
