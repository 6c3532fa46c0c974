"""Sections of a scenario as models of what they may hold."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    model_validator,
)
from pydantic_core import CoreSchema
from rolling_dynamics.scenario.entry import refused
from rolling_dynamics.scenario.json_schema import Json

S = TypeVar('S', bound='Section')


class Section(BaseModel):
    """A mapping of entries: a field for each, with its kind and its default."""

    model_config = ConfigDict(
        strict=True, extra='forbid', frozen=True, arbitrary_types_allowed=True, defer_build=True
    )

    @property
    def given(self) -> set[str]:
        """Names of the entries that were given."""
        return self.model_fields_set


# of a dataclass that is a section: `__pydantic_config__ = SECTION`; it has no strict mode, which
# would take instances only
SECTION = ConfigDict(extra='forbid')


def usual(section: type[S]) -> S:
    """Return a section of which nothing is given."""
    return section.model_construct()


def gone(**instead: str) -> Any:  # noqa: ANN401  a decorated validator
    """Return a validator that refuses entries which there were once; texts by name say why."""

    def refuse(given: Any) -> Any:  # noqa: ANN401  what stands in a file
        for name in instead.keys() & given if isinstance(given, dict) else ():
            raise refused(instead[name], name)
        return given

    return model_validator(mode='before')(refuse)


class OneOf(Section):
    """A mapping of exactly one entry."""

    @model_validator(mode='after')
    def _one(self) -> OneOf:
        if len(self.given) != 1:
            known, given = ', '.join(type(self).model_fields), ', '.join(self.given) or 'none'
            raise refused(f'exactly one of {known} is needed, got {given}')
        return self

    @property
    def only(self) -> tuple[str, Any]:
        """Name and value of the entry."""
        (name,) = self.given
        return name, getattr(self, name)

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        """Say so in the JSON Schema."""
        schema = handler(core)
        handler.resolve_ref_schema(schema).update(minProperties=1, maxProperties=1)
        return schema
