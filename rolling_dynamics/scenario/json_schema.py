# ruff: noqa: ANN401 (parts of a schema are what they are)
"""The JSON Schema of a section: what its reference, an editor and error texts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
import math
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema, FloatSchema, ModelSchema, WithDefaultSchema
from rolling_dynamics.scenario.formulas import SMALLEST

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
        """Leave out a default that is no value, and that of a section."""
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
        Of :func:`schema_of`.
    path
        Names of entries and places in lists.
    value
        What stands there; its entry ``kind`` tells one surface from another.

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
    """Return the schemas of the entries of a mapping by name; of a surface, those of its kind."""
    known: Json = schema.get('properties', {})
    for branch in schema.get('allOf', ()):
        kind = branch['if']['properties']['kind']['const']
        if isinstance(value, dict) and value.get('kind') == kind:
            known = known | branch['then']['properties']
    return known
