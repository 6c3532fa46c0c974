# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
Parts of documents that have passed a schema already.

Reading many scenarios that differ in some numbers, most of the time would go into checking what
was checked before. Mappings, lists and numbers are judged here; of anything else, what a full
check has passed is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import json
import math
from typing import Any

from rolling_dynamics.scenario.formulas import LARGEST, SMALLEST

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
        self._rules: dict[int, _Rule] = {}
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
        rule = self._rules.get(id(schema))
        if rule is None:
            rule = self._rules[id(schema)] = _Rule.of(schema)
        kind = type(value)
        if rule.parts is not None and kind is dict:
            return rule.required <= value.keys() and all(
                k in rule.parts and self._good(rule.parts[k], v) for k, v in value.items()
            )
        if rule.item is not None and kind is list:
            fits = rule.least <= len(value) <= rule.most
            return fits and all(self._good(rule.item, v) for v in value)
        if rule.bounds is not None and (kind is float or kind is int):
            low, above, high = rule.bounds
            return bool(low <= value <= high and value > above)
        key = id(schema), json.dumps(value)
        if key not in self._passed:
            self._new.append(key)
        return True


@dataclass(frozen=True, eq=False, kw_only=True)
class _Rule:
    """
    What a schema asks for, as far as it is judged here; None where it is not.

    Attributes
    ----------
    parts, required
        Schemas of a mapping's entries, and names of those that must not be missing.
    item, least, most
        Schema of a list's items, and how many there may be.
    bounds
        Of a number: the least, what it must exceed, the greatest.

    """

    parts: Mapping[str, Any] | None = None
    required: frozenset[str] = frozenset()
    item: Mapping[str, Any] | None = None
    least: int = 0
    most: float = math.inf
    bounds: tuple[float, float, float] | None = None

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> _Rule:
        """Return the rule of a schema."""
        kind, keys = schema.get('type', ()), schema.keys()
        if kind == 'object' and keys <= MAPPING and schema.get('additionalProperties') is False:
            return cls(
                parts=schema.get('properties', {}), required=frozenset(schema.get('required', ()))
            )
        if kind == 'array' and keys <= LIST:
            return cls(
                item=schema.get('items', {}),
                least=schema.get('minItems', 0),
                most=schema.get('maxItems', math.inf),
            )
        if 'number' in kind and keys <= NUMBER:
            above = schema.get('exclusiveMinimum', -math.inf)
            return cls(
                bounds=(
                    SMALLEST if above == 0 else max(schema.get('minimum', -LARGEST), -LARGEST),
                    above,
                    min(schema.get('maximum', LARGEST), LARGEST),
                )
            )
        return cls()
