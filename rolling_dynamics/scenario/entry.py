# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""
What an entry of a scenario may be: how it is read, and how it stands in a JSON Schema.

Every number may be a formula such as ``pi/2``. Fields of these kinds are made by ``fields.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema, CoreSchema, PydanticCustomError
from rolling_dynamics.errors import ExpressionError
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.formulas import formula_of_time, LARGEST, number, SMALLEST
from rolling_dynamics.scenario.json_schema import Json, schema_of

Array = NDArray[np.float64]
Term = str | float
TIME = ca.SX.sym('t')  # of every formula of time


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


def needed(what: str, unit: str, given: Any) -> PydanticCustomError:
    """Return what is raised where an entry must be something else."""
    return refused(f'must be {what}{f" [{unit}]" if unit else ""}, got {shorten(given)}')


@dataclass(frozen=True)
class Kind:
    """A kind of entry: its sentence and its unit."""

    text: str = ''
    unit: str = ''

    def core(self, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how it is read."""
        return core_schema.no_info_plain_validator_function(self.read)

    def read(self, given: Any) -> Any:
        """Return the value of an entry, or raise what :func:`refused` returns."""
        raise NotImplementedError

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return how it stands in a JSON Schema."""
        raise NotImplementedError

    def described(self, schema: Json) -> Json:
        """Return a schema with sentence and unit."""
        notes = {'unit': self.unit, 'description': self.text}
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

    def read(self, given: Any) -> float:
        """Return the number."""
        if type(given) is str:
            try:
                value: float = number(given)
            except ExpressionError as e:
                raise refused(str(e)) from None
        elif type(given) is float or type(given) is int:
            value = given
        else:
            raise needed('a number or a formula', self.unit, given)
        if self.low <= value <= self.most:
            return float(value)
        raise self._refusal(value, given)

    @cached_property
    def low(self) -> float:
        """Least number: one that must be positive must not vanish in a power either."""
        return SMALLEST if self.positive else self.least

    def _refusal(self, value: float, given: Any) -> PydanticCustomError:
        """Say which bound does not hold; the greatest number is that of every entry."""
        try:
            number(value)
        except ExpressionError as e:
            return refused(str(e))
        words = f'at least {self.low:g}' if value < self.low else f'at most {self.most:g}'
        if self.positive and not value > 0:
            words = 'positive'
        return needed(words, self.unit, given)

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return a number or a formula."""
        bounds: Json = {'exclusiveMinimum': 0} if self.positive else {}
        if self.least > -LARGEST:
            bounds['minimum'] = self.least
        if self.most < LARGEST:
            bounds['maximum'] = self.most
        return self.described({'type': ['number', 'string'], 'format': 'formula', **bounds})


@dataclass(frozen=True)
class Formula(Kind):
    """A number or a formula of the time ``t``: an expression in ``TIME``."""

    def read(self, given: Any) -> ca.SX:
        """Return the expression."""
        if isinstance(given, bool) or not isinstance(given, str | float | int):
            raise needed('a number or a formula', self.unit, given)
        try:
            return _of_time(given)
        except ExpressionError as e:
            raise refused(str(e)) from None

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return a number or a formula."""
        return self.described({'type': ['number', 'string'], 'format': 'formula_t'})


@lru_cache(maxsize=1024)
def _of_time(given: Term) -> ca.SX:
    return formula_of_time(given, TIME)


@dataclass(frozen=True)
class Unread(Kind):
    """A number or a formula in names that are known later, as it stands."""

    def read(self, given: Any) -> Term:
        """Return the text or the number."""
        if isinstance(given, bool) or not isinstance(given, str | float | int):
            raise needed('a number or a text', self.unit, given)
        return given

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return a number or a text."""
        return self.described({'type': ['number', 'string']})


@dataclass(frozen=True)
class Anything(Kind):
    """Whatever stands there, as it stands."""

    def read(self, given: Any) -> Any:
        """Return it."""
        return given

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return what says nothing."""
        return self.described({})


@dataclass(frozen=True)
class Several(Kind):
    """A list of entries of one kind: as many as ``count`` or, a pair, at least and at most."""

    of: Kind = Kind()
    count: int | tuple[int, int | None] = (0, None)

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how it is read."""
        low, high = self.count if isinstance(self.count, tuple) else (self.count, self.count)
        return core_schema.list_schema(
            self.of.core(handler), min_length=low or None, max_length=high, strict=True
        )

    def json(self, handler: GetJsonSchemaHandler) -> Json:
        """Return an array."""
        low, high = self.count if isinstance(self.count, tuple) else (self.count, self.count)
        bounds = {'minItems': low or None, 'maxItems': high}
        bounds = {key: value for key, value in bounds.items() if value is not None}
        return self.described({'type': 'array', 'items': self.of.json(handler), **bounds})


@dataclass(frozen=True)
class Numbers(Several):
    """A list of numbers, or of lists of as many numbers: an array."""

    of: Kind = Quantity()

    def core(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return how it is read."""
        return core_schema.no_info_after_validator_function(_array, super().core(handler))


def _array(values: Sequence[Any]) -> Array:
    return np.array(values, dtype=float)


@dataclass(frozen=True)
class Tensor(Kind):
    """A number, or nested lists of numbers: an array of any shape; or a word in its place."""

    word: str = ''

    def read(self, given: Any) -> Array | str:
        """Return the array, or the word."""
        if isinstance(given, bool) or not isinstance(given, str | float | int | list):
            raise needed('a number or a text or a list', self.unit, given)
        if self.word and given == self.word:
            return self.word
        hint = f'; or write {self.word!r}' if self.word else ''
        values = self._numbers(given, (), hint)
        try:
            return np.array(values, dtype=float)
        except ValueError:
            text = f'the rows differ in length, got {given!r}{hint}'
            raise refused(text) from None

    def json(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return a number, a text or an array."""
        return self.described({'type': ['number', 'string', 'array']})

    def _numbers(self, given: Any, path: tuple[int, ...], hint: str) -> Any:
        if isinstance(given, list):
            return [self._numbers(value, (*path, k), hint) for k, value in enumerate(given)]
        if isinstance(given, bool) or not isinstance(given, str | float | int):
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
        return self.described({**merged, 'type': types})
