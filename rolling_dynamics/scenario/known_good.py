# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
Parts of documents that have passed a schema already.

Reading many scenarios that differ in some numbers, most of the time would go into checking what
was checked before. Mappings, lists and numbers are judged here; of anything else, what a full
check has passed is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from rolling_dynamics.scenario.formulas import LARGEST

ANNOTATIONS = {'description', 'unit', '$comment'}
MAPPING = ANNOTATIONS | {'type', 'properties', 'required', 'additionalProperties'}
LIST = ANNOTATIONS | {'type', 'items', 'minItems', 'maxItems'}
NUMBER = ANNOTATIONS | {'type', 'format', 'minimum', 'exclusiveMinimum', 'maximum'}
MOST, ROOTS = 20_000, 64


class KnownGood:
    """What has passed one schema, which it keeps alive."""

    _known: dict[int, KnownGood] = {}  # noqa: RUF012  (of all schemas in use)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Begin with nothing."""
        self.schema = schema
        self._passed: set[tuple[int, str]] = set()
        self._new: list[tuple[int, str]] = []

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> KnownGood:
        """Return what is known of a schema."""
        if id(schema) not in cls._known:
            if len(cls._known) >= ROOTS:
                cls._known.clear()
            cls._known[id(schema)] = cls(schema)
        return cls._known[id(schema)]

    def holds(self, document: Mapping[str, Any]) -> bool:
        """Tell whether a document is sure to fit the schema; if not, it has to be checked."""
        self._new = []
        return self._good(self.schema, document) and not self._new

    def passed(self) -> None:
        """Remember the document that was asked about last: it has been checked."""
        if len(self._passed) + len(self._new) > MOST:
            self._passed.clear()
        self._passed.update(self._new)

    def _good(self, schema: Mapping[str, Any], value: Any) -> bool:
        """Tell whether a part may be good; note what is to be remembered if it is."""
        if isinstance(value, dict) and schema.get('type') == 'object' and schema.keys() <= MAPPING:
            parts = schema.get('properties', {})
            closed = schema.get('additionalProperties') is False
            complete = all(name in value for name in schema.get('required', ()))
            return (
                closed
                and complete
                and all(k in parts and self._good(parts[k], v) for k, v in value.items())
            )
        if isinstance(value, list) and schema.get('type') == 'array' and schema.keys() <= LIST:
            low, high = schema.get('minItems', 0), schema.get('maxItems', len(value))
            item = schema.get('items', {})
            return low <= len(value) <= high and all(self._good(item, v) for v in value)
        if type(value) in {int, float} and 'number' in schema.get('type', ()):
            return schema.keys() <= NUMBER and _in_bounds(schema, value)
        key = id(schema), json.dumps(value)
        if key not in self._passed:
            self._new.append(key)
        return True


def _in_bounds(schema: Mapping[str, Any], value: float) -> bool:
    return bool(
        abs(value) <= LARGEST
        and value >= schema.get('minimum', value)
        and value <= schema.get('maximum', value)
        and ('exclusiveMinimum' not in schema or value > schema['exclusiveMinimum'])
    )
