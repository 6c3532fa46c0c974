# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Sections of which there are kinds, one model for each, to which packages add their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import logging
from typing import Any, get_args, TypeVar

from pydantic import ConfigDict, GetJsonSchemaHandler
from rolling_dynamics.plugin import BROKEN
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.entry import Kind, refused
from rolling_dynamics.scenario.json_schema import Json, schema_of
from rolling_dynamics.scenario.model import Section
from rolling_dynamics.suggestion import suggestion
from rolling_dynamics.text import printable

LOG = logging.getLogger(__name__)
M = TypeVar('M', bound=Section)


class Kinds:
    """
    The models of the kinds of something, each with a field ``kind: Literal['name']``.

    Attributes
    ----------
    what
        What there are kinds of; ``rolling_robotics.<what>s`` is the group of entry points that
        name models of further kinds.
    own
        Models that are known, by kind.

    """

    def __init__(self, what: str) -> None:
        """Begin with no kind."""
        self.what = what
        self.own: dict[str, type[Section]] = {}

    def add(self, model: type[M]) -> type[M]:
        """Add a model for this process; stands before its class."""
        (kind,) = get_args(model.model_fields['kind'].annotation)
        self.own[kind] = model
        schema_of.cache_clear()
        return model

    def all(self) -> dict[str, type[Section]]:
        """Return all models, also those that packages bring."""
        return self._installed | self.own

    @cached_property
    def _installed(self) -> dict[str, type[Section]]:
        """What packages bring; what cannot be loaded is a line in the log."""
        from importlib.metadata import entry_points  # noqa: PLC0415  20 ms that few need

        found = {}
        for point in entry_points(group=f'rolling_robotics.{self.what}s'):
            try:
                model = point.load()
                if not issubclass(model, Section):
                    raise TypeError(f'a Section is needed, got {model!r}')
            except BROKEN as e:
                text = printable(f'{type(e).__name__}: {e}')
                LOG.warning('%s %s (%s) is left out: %s', self.what, point.name, point.value, text)
            else:
                found[point.name] = model
        return found


class _OfSomeKind(Section):
    """What is read first."""

    model_config = ConfigDict(extra='ignore')

    kind: Any


@dataclass(frozen=True, kw_only=True)
class OfKind(Kind):
    """A section of one of the kinds that are known when it is read."""

    kinds: Kinds

    types = (dict,)

    def read(self, given: Any) -> Section:
        """Return the section of its kind."""
        kind = _OfSomeKind.model_validate(given).kind
        known = self.kinds.own if str(kind) in self.kinds.own else self.kinds.all()
        if not isinstance(kind, str) or kind not in known:
            raise refused(f'got {shorten(kind)}{suggestion(str(kind), list(known))}', 'kind')
        return known[kind].model_validate(given)

    def keywords(self, _handler: GetJsonSchemaHandler) -> Json:
        """Return a schema for each kind, as conditions: an editor completes the one at hand."""
        branches = [
            {
                'if': {'required': ['kind'], 'properties': {'kind': {'const': kind}}},
                'then': schema_of(model),
            }
            for kind, model in self.kinds.all().items()
        ]
        kind = {'enum': list(self.kinds.all()), 'description': f'kind of {self.kinds.what}'}
        return {'required': ['kind'], 'properties': {'kind': kind}, 'allOf': branches}
