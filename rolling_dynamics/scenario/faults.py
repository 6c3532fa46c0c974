# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Reading of a section by its model, its JSON Schema, and texts about errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
import math
import re
from typing import Any, cast, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import DataclassSchema, FloatSchema, ModelSchema, WithDefaultSchema
from rolling_dynamics.errors import nearest, RollingError, ScenarioError, suggestion
from rolling_dynamics.scenario.control import number, SMALLEST
from rolling_dynamics.scenario.document import shorten

Json = dict[str, Any]


class _Generator(GenerateJsonSchema):
    """Numbers may be formulas, sentences of sections are docstrings, defaults are values."""

    def float_schema(self, schema: FloatSchema) -> JsonSchemaValue:
        """Allow a formula; bounds hold for formulas too."""
        out = super().float_schema(schema) | {'type': ['number', 'string'], 'format': 'formula'}
        if out.get('minimum') == SMALLEST:
            del out['minimum']
            out['exclusiveMinimum'] = 0
        return out

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Write the docstring as the sentence of an entry."""
        return _described(super().model_schema(schema))

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        """Write the first paragraph of the docstring as the sentence of an entry."""
        out = super().dataclass_schema(schema)
        return _described(out | {'description': out['description'].partition('\n\n')[0]})

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Leave out defaults that are not values, and defaults of sections."""
        default = schema.get('default')
        said = isinstance(default, str | int | float) and default not in ('', math.inf)
        said |= isinstance(default, tuple) and default != () and all(map(math.isfinite, default))
        return super().default_schema(schema) if said else self.generate_inner(schema['schema'])


def _described(out: JsonSchemaValue) -> JsonSchemaValue:
    text = ' '.join(out.get('description', '').split()).removesuffix('.')
    first, second = text[:1], text[1:2]
    out['description'] = (first.lower() if not second.isupper() else first) + text[1:]
    return out


@cache
def schema_of(model: type) -> Json:
    """Return the JSON Schema of a section, without references; not to change."""
    schema = TypeAdapter(model).json_schema(schema_generator=_Generator)
    resolved: Json = _resolved(schema, schema.get('$defs', {}))
    return resolved


def _resolved(schema: Any, defs: Json) -> Any:
    if isinstance(schema, list):
        return [_resolved(part, defs) for part in schema]
    if not isinstance(schema, dict):
        return schema
    base = _resolved(defs[schema['$ref'].rpartition('/')[2]], defs) if '$ref' in schema else {}
    parts = [_resolved(part, defs) for part in schema.get('oneOf', ())]  # which do not meet
    for part in parts:
        base |= part
    if parts:
        base['type'] = [t for part in parts for t in _types_of(part)]
    own = {
        key: _resolved(part, defs)
        for key, part in schema.items()
        if key not in ('$ref', '$defs', 'oneOf')
        and not (key == 'title' and isinstance(part, str))
        and not (key == 'default' and part is None)
    }
    return base | own


def _types_of(schema: Json) -> list[str]:
    types = schema['type']
    return types if isinstance(types, list) else [types]


def part_at(schema: Json, path: tuple[str | int, ...], value: Any = None) -> Json:
    """
    Return the schema of an entry, empty if there is none.

    Parameters
    ----------
    schema
        Schema of :func:`schema_of`.
    path
        Names of entries and indices in lists.
    value
        The value there; its entry ``kind`` distinguishes surfaces.

    """
    for step in path:
        if isinstance(step, int):
            schema = schema.get('items', {})
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            inner = entries_of(schema, value).get(step) or schema.get('additionalProperties')
            schema = inner if isinstance(inner, dict) else {}
            value = value.get(step) if isinstance(value, dict) else None
    return schema


def entries_of(schema: Mapping[str, Any], value: Any = None) -> Json:
    """Return the schemas of the entries of a mapping by name; a surface has its kind's."""
    known: Json = schema.get('properties', {})
    for branch in schema.get('allOf', ()):
        kind = branch['if']['properties']['kind']['const']
        if isinstance(value, dict) and value.get('kind') == kind:
            known = known | branch['then']['properties']
    return known


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
def located(path: str, *, inner: bool = False) -> Iterator[None]:
    """Put a path before the text of an error raised inside, which may name an inner entry."""
    try:
        yield
    except ScenarioError:
        raise
    except RollingError as e:
        raise ScenarioError(_below(path, str(e)) if inner else f'{path}: {e}') from None


def _below(path: str, text: str) -> str:
    """Return a text with the path before that of an entry at its start, if any."""
    own = ENTRY.match(text)
    return f'{path}.{own[1]}: {text[own.end() :]}' if own else f'{path}: {text}'


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
    Return the section of a mapping of plain data.

    Parameters
    ----------
    model
        Its model: a section, or a dataclass whose fields are annotated with kinds.
    document
        The mapping.
    path
        Path of the mapping, put before the paths in messages.
    brought
        Values of the scenario where the mapping has none, see :class:`.Brought`.

    Raises
    ------
    ScenarioError
        One line for each fault, each starting with the path of its entry.

    """
    known = cast('Any', model)
    try:
        section: Model = _adapter(known).validate_python(
            {**(brought or {}), **document}, context=brought or {}
        )
    except ValidationError as e:
        schema = schema_of(known)
        found = [_line(error, schema, document, path) for error in e.errors(include_url=False)]
    else:
        return section
    lines = list(dict.fromkeys('\n'.join(found).splitlines()))
    more = [f'and {len(lines) - MAX_ERRORS} more'] if len(lines) > MAX_ERRORS else []
    raise ScenarioError('\n'.join(lines[:MAX_ERRORS] + more))


def entry_path(steps: Path, prefix: str = '') -> str:
    """Return the path of an entry in messages, such as ``initial.contact.u_h``."""
    out = prefix
    for step in steps:
        out += f'[{step}]' if isinstance(step, int) else f'.{step}' if out else step
    return out


def _line(error: ErrorDetails, schema: Json, document: Mapping[str, Any], prefix: str) -> str:
    """Return the text of an error, with valid values."""
    kind = error['type']
    steps = tuple(step for step in error['loc'] if not str(step).startswith('<'))
    if kind == 'entry':  # by a kind of entry, or by a check of a section
        return f'{entry_path((*steps, *error["ctx"]["path"]), prefix)}: {error["ctx"]["text"]}'
    path = entry_path(steps, prefix)
    if kind == 'value_error':  # by a dataclass that is a section
        return '\n'.join(_below(path, text) for text in str(error['ctx']['error']).splitlines())
    around: Any = document
    for step in steps[:-1]:
        around = around[step]
    if kind in ('missing', 'extra_forbidden', 'unexpected_keyword_argument'):
        known = entries_of(part_at(schema, steps[:-1], document), around)
        text = _missing if kind == 'missing' else _unknown
        return f'{path}: {text(str(steps[-1]), known, around)}'
    given = around[steps[-1]] if steps else document
    return f'{path}: {_misfit(kind, part_at(schema, steps, document), given)}'


def _unknown(name: str, known: Json, _: Mapping[str, Any]) -> str:
    return f'unknown entry{suggestion(name, list(known))}'


def _missing(name: str, known: Json, given: Mapping[str, Any]) -> str:
    own = known[name]
    text = f' ({own["description"]}{_unit(own)})' if 'description' in own else ''
    close = nearest(name, map(str, given))
    hint = f'; is it {close!r}, misspelt?' if close and close not in known else ''
    return f'is missing{text}{hint}'


def _unit(schema: Json) -> str:
    return f' [{schema["unit"]}]' if 'unit' in schema else ''


def _misfit(kind: str, schema: Json, given: Any) -> str:
    """Return why a value does not fit, by its schema."""
    unit, got = _unit(schema), f'got {shorten(given)}'
    if kind == 'literal_error':
        return f'{got}{suggestion(str(given), [str(v) for v in schema["enum"]])}'
    if kind == 'greater_than_equal':
        positive = 'exclusiveMinimum' in schema and number(given) <= 0
        least = f'at least {schema.get("minimum", SMALLEST):g}'
        return f'must be {"positive" if positive else least}{unit}, {got}'
    if kind == 'less_than_equal':
        return f'must be at most {schema["maximum"]:g}{unit}, {got}'
    if kind.endswith(('too_short', 'too_long')):
        if not isinstance(given, list):
            empty = f'at least one entry is needed, got {", ".join(given) or "none"}'
            return 'a text is needed that is not empty' if isinstance(given, str) else empty
        low, high = schema.get('minItems'), schema.get('maxItems')
        several = f'at least {low}' if high is None else f'{low} to {high}'
        count = low if low == high else several
        return f'takes {count} entries{unit}, got {len(given)}: {shorten(given)}'
    words = [_WORDS[t] for t in _types_of({'type': 'object'} | schema)]
    if str(schema.get('format', '')).startswith('formula'):
        words = ['a formula' if w == 'a text' else w for w in words]
    return f'must be {" or ".join(words)}{unit}, {got}'
