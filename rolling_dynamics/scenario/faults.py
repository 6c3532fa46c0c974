# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Reading a section by its model, and what is said of what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
import re
from typing import Any, cast, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from rolling_dynamics.errors import RollingError, ScenarioError
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.formulas import number, SMALLEST
from rolling_dynamics.scenario.json_schema import entries_of, Json, part_at, schema_of
from rolling_dynamics.suggestion import nearest, suggestion

MAX_ERRORS = 8
Model = TypeVar('Model')
ENTRY = re.compile(r'([\w.\[\]]+)(?:: |(?: (?=must|takes)))')
Path = tuple[str | int, ...]
_WORDS = {
    'number': 'a number',
    'string': 'a text',
    'object': 'a mapping',
    'array': 'a list',
    'boolean': 'true or false',
    'integer': 'a whole number',
    'null': 'nothing',
}


@contextmanager
def located(path: str) -> Iterator[None]:
    """Put the path of an entry before the text of an error raised inside."""
    try:
        yield
    except ScenarioError:
        raise
    except RollingError as e:
        raise ScenarioError(f'{path}: {e}') from None


@cache
def _adapter(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)


def check(
    model: type[Model],
    document: Mapping[str, Any],
    path: str = '',
    brought: Mapping[str, Any] | None = None,
) -> Model:
    """
    Return the section that a mapping of plain data holds.

    Parameters
    ----------
    model
        What it may hold: a section, or a dataclass whose fields are annotated with kinds.
    document
        The mapping.
    path
        Path of the mapping, put before the paths in messages.
    brought
        Values that the scenario brings where the mapping has none, see :class:`.Brought`.

    Raises
    ------
    ScenarioError
        One line for each fault, each beginning with the path of its entry.

    """
    brought, kept = brought or {}, cast('Any', model)
    try:
        section: Model = _adapter(kept).validate_python({**brought, **document}, context=brought)
    except ValidationError as e:
        errors = e.errors(include_url=False)
    else:
        return section
    schema = schema_of(kept)
    lines = list(
        dict.fromkeys(
            line for error in errors for line in _line(error, schema, document, path).splitlines()
        )
    )
    more = [f'and {len(lines) - MAX_ERRORS} more'] if len(lines) > MAX_ERRORS else []
    raise ScenarioError('\n'.join(lines[:MAX_ERRORS] + more))


def entry_path(steps: Path, prefix: str = '') -> str:
    """Return the path of an entry as it stands in messages, such as ``initial.contact.u_h``."""
    out = prefix
    for step in steps:
        out += f'[{step}]' if isinstance(step, int) else f'.{step}' if out else step
    return out


def _line(error: ErrorDetails, schema: Json, document: Mapping[str, Any], prefix: str) -> str:
    """Return what is said of an error."""
    kind = error['type']
    steps = tuple(step for step in error['loc'] if not str(step).startswith('<'))
    if kind == 'entry':  # by a kind of entry, or by a check of a section
        return f'{entry_path((*steps, *error["ctx"]["path"]), prefix)}: {error["ctx"]["text"]}'
    path = entry_path(steps, prefix)
    around: Any = document
    for step in steps[:-1]:
        around = around[step]
    if kind == 'value_error':  # by a dataclass that is a section
        return '\n'.join(_placed(text, path) for text in str(error['ctx']['error']).splitlines())
    if kind in ('missing', 'extra_forbidden', 'unexpected_keyword_argument'):
        known = entries_of(part_at(schema, steps[:-1], document), around)
        text = _missing if kind == 'missing' else _unknown
        return f'{path}: {text(str(steps[-1]), known, around)}'
    given = around[steps[-1]] if steps else document
    return f'{path}: {_TEXTS.get(kind, _type)(part_at(schema, steps, document), given)}'


def _placed(text: str, path: str) -> str:
    """Return a text with the path of its section, if it does not begin with one of its entries."""
    named = ENTRY.match(text)
    return f'{path}.{named[1]}: {text[named.end() :]}' if named else f'{path}: {text}'


def _unit(schema: Json) -> str:
    return f' [{schema["unit"]}]' if 'unit' in schema else ''


def _unknown(name: str, known: Json, _: Mapping[str, Any]) -> str:
    return f'unknown entry{suggestion(name, list(known))}'


def _missing(name: str, known: Json, given: Mapping[str, Any]) -> str:
    own = known[name]
    text = f' ({own["description"]}{_unit(own)})' if 'description' in own else ''
    close = nearest(name, map(str, given))
    hint = f'; is it {close!r}, misspelt?' if close and close not in known else ''
    return f'is missing{text}{hint}'


def _type(schema: Json, given: Any) -> str:
    types = schema.get('type', 'object')
    words = [_WORDS[t] for t in ([types] if isinstance(types, str) else types)]
    if str(schema.get('format', '')).startswith('formula'):
        words = ['a formula' if w == 'a text' else w for w in words]
    return f'must be {" or ".join(words)}{_unit(schema)}, got {shorten(given)}'


def _choice(schema: Json, given: Any) -> str:
    return f'got {shorten(given)}{suggestion(str(given), [str(v) for v in schema["enum"]])}'


def _low(schema: Json, given: Any) -> str:
    bound = f'at least {schema.get("minimum", SMALLEST):g}'
    if 'exclusiveMinimum' in schema and number(given) <= 0:
        bound = 'positive'
    return f'must be {bound}{_unit(schema)}, got {shorten(given)}'


def _high(schema: Json, given: Any) -> str:
    return f'must be at most {schema["maximum"]:g}{_unit(schema)}, got {shorten(given)}'


def _length(schema: Json, given: Any) -> str:
    if isinstance(given, str):
        return 'a text is needed that is not empty'
    if isinstance(given, dict):
        return f'at least one entry is needed, got {", ".join(given) or "none"}'
    low, high = schema.get('minItems'), schema.get('maxItems')
    count = str(low) if low == high else f'at least {low}' if high is None else f'{low} to {high}'
    return f'takes {count} entries{_unit(schema)}, got {len(given)}: {shorten(given)}'


_TEXTS: dict[str, Callable[[Json, Any], str]] = {
    'literal_error': _choice,
    'greater_than_equal': _low,
    'less_than_equal': _high,
    'too_short': _length,
    'too_long': _length,
    'string_too_short': _length,
}
