# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
What an entry of a scenario may be: how it is read, and how it stands in a JSON Schema.

Every number may be a formula such as ``pi/2``. Fields of these kinds are made by ``fields.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import NoneType
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import (
    core_schema,
    CoreSchema,
    PydanticCustomError,
    PydanticKnownError,
    PydanticOmit,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ExpressionError
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.formulas import formula_of_time, LARGEST, number, SMALLEST
from rolling_dynamics.scenario.json_schema import Json, schema_of

Term = str | float
TIME = ca.SX.sym('t')  # of every formula of time
SCALARS = (float, int, str)
WRONG_TYPE = PydanticCustomError('wrong_type', 'is of another type than its schema says')
_NAMES = {
    float: 'number',
    int: 'number',
    str: 'string',
    list: 'array',
    dict: 'object',
    NoneType: 'null',
}


def refused(text: str, *path: str | int) -> PydanticCustomError:
    """
    Return what a validator raises.

    Parameters
    ----------
    text
        What is wrong and what would do.
    path
        Of the entry inside the one that is read, if it is that one.

    """
    return PydanticCustomError('entry', '{text}', {'text': text, 'path': path})


@dataclass(frozen=True)
class Kind:
    """
    A kind of entry: its sentence, its unit, and what YAML may have in its place.

    Subclasses give ``types`` and ``read``, and say in ``keywords`` what else a JSON Schema tells.
    """

    text: str = ''
    unit: str = ''

    types: ClassVar[tuple[type, ...]] = SCALARS

    def core(self, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how pydantic reads it."""
        return core_schema.no_info_plain_validator_function(self.checked)

    def checked(self, given: Any) -> Any:
        """Return the value of an entry, or raise what :func:`refused` returns."""
        if type(given) not in self.types:
            raise WRONG_TYPE
        try:
            return self.read(given)
        except ExpressionError as e:
            raise refused(str(e)) from None

    def read(self, given: Any) -> Any:
        """Return the value of an entry of one of the types; that is what stands there."""
        return given

    def keywords(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return what a JSON Schema says beside types, sentence and unit."""
        return {}

    def json(self, handler: GetJsonSchemaHandler) -> Json:
        """Return how it stands in a JSON Schema."""
        types = list(dict.fromkeys(_NAMES[t] for t in self.types))
        notes = {'unit': self.unit, 'description': self.text}
        schema: Json = {'type': types[0] if len(types) == 1 else types} if types else {}
        schema |= self.keywords(handler)
        return schema | {key: value for key, value in notes.items() if value}

    def __get_pydantic_core_schema__(self, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Tell pydantic how it is read, whatever its type is."""
        return self.core(handler)

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        """Tell pydantic how it stands in a JSON Schema."""
        return self.json(handler)


@dataclass(frozen=True)
class Quantity(Kind):
    """A number, or a formula of one: a float, positive, or between bounds."""

    positive: bool = False
    least: float = -LARGEST
    most: float = LARGEST

    @cached_property
    def low(self) -> float:
        """Least number: one that must be positive must not vanish in a power either."""
        return SMALLEST if self.positive else self.least

    def read(self, given: Term) -> float:
        """Return the number."""
        value = number(given) if type(given) is str else given
        if self.low <= value <= self.most:  # type: ignore[operator]
            return float(value)
        value = number(given)  # the greatest is that of every entry
        words = f'at least {self.low:g}' if value < self.low else f'at most {self.most:g}'
        if self.positive and not value > 0:
            words = 'positive'
        unit = f' [{self.unit}]' if self.unit else ''
        raise refused(f'must be {words}{unit}, got {shorten(given)}')

    def keywords(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return the bounds; they hold for formulas too."""
        bounds: Json = {'exclusiveMinimum': 0} if self.positive else {}
        if self.least > -LARGEST:
            bounds['minimum'] = self.least
        if self.most < LARGEST:
            bounds['maximum'] = self.most
        return {'format': 'formula', **bounds}


@dataclass(frozen=True)
class Formula(Kind):
    """A number or a formula of the time ``t``: an expression in ``TIME``."""

    def read(self, given: Term) -> ca.SX:
        """Return the expression."""
        return _of_time(given)

    def keywords(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return whose formula it is."""
        return {'format': 'formula_t'}


@lru_cache(maxsize=1024)
def _of_time(given: Term) -> ca.SX:
    return formula_of_time(given, TIME)


class Anything(Kind):
    """Whatever stands there, as it stands."""

    types = ()

    def checked(self, given: Any) -> Any:
        """Return it."""
        return given


class Brought(Kind):
    """What the scenario brings to a problem; an entry of this name is unknown to its section."""

    def core(self, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return what takes only the object of the context."""
        return core_schema.with_info_plain_validator_function(_brought)

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Leave it out."""
        raise PydanticOmit


def _brought(given: Any, info: ValidationInfo) -> Any:
    if (info.context or {}).get(info.field_name, info) is not given:
        raise PydanticKnownError('extra_forbidden')
    return given


@dataclass(frozen=True)
class Several(Kind):
    """A list of entries of one kind: as many as ``count`` or, a pair, at least and at most."""

    of: Kind = Kind()
    count: int | tuple[int, int | None] = (0, None)

    types = (list,)

    @property
    def _bounds(self) -> tuple[int | None, int | None]:
        low, high = self.count if isinstance(self.count, tuple) else (self.count, self.count)
        return low or None, high

    def made(self, values: list[Any]) -> Any:
        """Return what is made of the entries."""
        return values

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how it is read."""
        low, high = self._bounds
        items = core_schema.list_schema(
            self.of.core(handler), min_length=low, max_length=high, strict=True
        )
        return core_schema.no_info_after_validator_function(self.made, items)

    def keywords(self, handler: GetJsonSchemaHandler) -> Json:
        """Return what it is a list of."""
        bounds = dict(zip(('minItems', 'maxItems'), self._bounds, strict=True))
        items = {'items': self.of.json(handler)}
        return items | {key: value for key, value in bounds.items() if value is not None}


@dataclass(frozen=True)
class Numbers(Several):
    """A list of numbers, or of lists of as many numbers: an array."""

    of: Kind = Quantity()

    def made(self, values: list[Any]) -> Any:
        """Return the array."""
        return np.array(values, dtype=float)


@dataclass(frozen=True)
class Tuple(Several):
    """A list of as many numbers: a tuple."""

    of: Kind = Quantity()

    def made(self, values: list[Any]) -> Any:
        """Return the tuple."""
        return tuple(values)


@dataclass(frozen=True)
class Tensor(Kind):
    """A number, or nested lists of numbers: an array of any shape; or a word in its place."""

    word: str = ''

    types: ClassVar[tuple[type, ...]] = (*SCALARS, list)

    def read(self, given: Any) -> Array | str:
        """Return the array, in the unit and the shape of the entry, or the word."""
        if self.word and given == self.word:
            return self.word
        hint = f'; or write {self.word!r}' if self.word else ''
        values = _numbers(given, (), hint)
        try:
            return np.array(values, dtype=float)
        except ValueError:
            raise refused(f'the rows differ in length, got {given!r}{hint}') from None


def _numbers(given: Any, path: tuple[int, ...], hint: str) -> Any:
    if type(given) is list:
        return [_numbers(value, (*path, k), hint) for k, value in enumerate(given)]
    if type(given) not in SCALARS:
        raise refused(f'must be a number or a formula, got {shorten(given)}', *path)
    try:
        return number(given)
    except ExpressionError as e:
        raise refused(f'{e}{hint}', *path) from None


@dataclass(frozen=True)
class Either(Kind):
    """An entry of one of several kinds, which YAML tells apart: scalar, list and mapping."""

    scalar: Kind | None = None
    several: Kind | None = None
    mapping: Any = None

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how it is read; tags in brackets are no part of a path."""
        choices = {tag: kind.core(handler) for tag, kind in self._kinds().items()}
        if self.mapping is not None:
            choices['<mapping>'] = handler.generate_schema(self.mapping)
        tags = {list: '<list>', dict: '<mapping>', str: '<scalar>', int: '<scalar>'}
        tags[float] = '<scalar>'
        return core_schema.tagged_union_schema(
            choices, lambda given: tag if (tag := tags.get(type(given))) in choices else None
        )

    def _kinds(self) -> dict[str, Kind]:
        kinds = {'<scalar>': self.scalar, '<list>': self.several}
        return {tag: kind for tag, kind in kinds.items() if kind is not None}

    def json(self, handler: GetJsonSchemaHandler) -> Json:
        """Return the keywords of all kinds, which do not meet."""
        parts = [kind.json(handler) for kind in self._kinds().values()]
        if self.mapping is not None:
            parts.append(schema_of(self.mapping))
        merged: Json = {}
        types: list[str] = []
        for part in parts:
            types += part['type'] if isinstance(part['type'], list) else [part['type']]
            merged |= part
        notes = {'unit': self.unit, 'description': self.text}
        return merged | {'type': types} | {key: value for key, value in notes.items() if value}
