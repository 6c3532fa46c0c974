# ruff: noqa: ANN401 (a field has the type of its annotation)
"""
Fields of a section: kind, sentence, unit, bounds and default of an entry in one call.

A field without a default is needed; one whose default is None may be left out, but not be null::

    mass: float = quantity('mass', 'kg', positive=True)
    mu: float = quantity('coefficient of static friction', least=0, default=1.0)

Each function returns what pydantic makes a field of, typed Any so that a field has its own type.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import numpy as np
from pydantic import Field, GetCoreSchemaHandler
from pydantic.config import JsonDict
from pydantic_core import CoreSchema
from rolling_dynamics.scenario.entry import (
    Formula,
    Kind,
    Numbers,
    Quantity,
    Several,
)
from rolling_dynamics.scenario.model import Section, usual

S = TypeVar('S', bound=Section)


class _NeverNull:
    """What may be left out, but not be null."""

    def __get_pydantic_core_schema__(
        self,
        source: Any,
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        return handler.generate_schema(source.__args__[0])


def entry(kind: Kind, default: Any = ...) -> Any:
    """Return a field of a kind."""
    if isinstance(default, np.ndarray):
        default.flags.writeable = False  # one for all, and pydantic would copy it each time
        shown = default.tolist() if np.isfinite(default).all() else None
        field: Any = Field(default_factory=lambda: default, json_schema_extra={'default': shown})
    else:
        field = Field(default)
    field.metadata.append(kind)
    return field


def note(text: str = '', unit: str = '', default: Any = ..., **bounds: Any) -> Any:
    """Return a field whose type is its kind: a section, names, true or false, a list."""
    extra: JsonDict | None = {'unit': unit} if unit else None
    field = Field(default, description=text or None, json_schema_extra=extra, **bounds)
    if default is None:
        field.metadata.insert(0, _NeverNull())
    return field


def section(model: type[S]) -> Any:
    """Return a field that is a section, of which nothing is given if it is left out."""
    return Field(default_factory=cache(lambda: usual(model)))


def whole(text: str, least: int, most: int | None = None, default: Any = ...) -> Any:
    """Return a field that counts something."""
    return note(text, default=default, ge=least, le=most)


def quantity(text: str = '', unit: str = '', default: Any = ..., **bounds: float) -> Any:
    """Return a field that is a number; its bounds are those of :class:`.Quantity`."""
    return entry(Quantity(text, unit, **bounds), default)  # type: ignore[arg-type]


def numbers(text: str = '', unit: str = '', default: Any = ..., **shape: Any) -> Any:
    """Return a field that is an array, see :class:`.Numbers` for its shape."""
    return entry(Numbers(text, unit, **shape), default)


def vector(text: str = '', unit: str = '', default: Any = ...) -> Any:
    """Return a field that is an array of three numbers."""
    return numbers(text, unit, count=3, default=default)


def pair(text: str = '', unit: str = '', default: Any = ...) -> Any:
    """Return a field that is an array of two numbers."""
    return numbers(text, unit, count=2, default=default)


def formula(text: str = '', unit: str = '', default: Any = ...) -> Any:
    """Return a field that is a formula of the time."""
    return entry(Formula(text, unit), default)


def formulas(text: str = '', unit: str = '', count: int = 3, default: Any = ...) -> Any:
    """Return a field that is a list of formulas of the time."""
    return entry(Several(text, unit, Formula(), count), default)


def terms(text: str = '', unit: str = '', count: int = 3, default: Any = ...) -> Any:
    """Return a field that is a list of formulas in other names, as they stand."""
    return entry(Several(text, unit, Kind(), count), default)
