# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Entries of a document by their path, such as ``masses[0].drive.values[1]``."""

from __future__ import annotations

from collections.abc import Mapping
import copy
from functools import lru_cache
import re
from typing import Any

from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.suggestion import suggestion

_PATH = re.compile(r'[A-Za-z_]\w*(\[\d+\])*(\.[A-Za-z_]\w*(\[\d+\])*)*')
_STEP = re.compile(r'[A-Za-z_]\w*|\d+')
_NAME = re.compile(r'\$[A-Za-z_]\w*')
_ALONE = re.compile(r'(-?)(\$[A-Za-z_]\w*)')


@lru_cache(maxsize=1024)
def steps_of(path: str) -> tuple[str | int, ...]:
    """Return the keys and places that a path goes through."""
    if not _PATH.fullmatch(path):
        raise ScenarioError(
            f'sweep: {path!r} is not the path of an entry such as friction.mu or masses[0].theta'
        )
    return tuple(int(s) if s.isdigit() else s for s in _STEP.findall(path))


def with_entry(document: dict[str, Any], path: str, value: Any) -> None:
    """
    Put a value in the place of an entry.

    Mappings and lists on the way are copied first, so that they may belong to other documents
    too; those that are missing are made.
    """
    steps = steps_of(path)
    *way, last = steps
    place: Any = document
    for k, step in enumerate(way):
        if isinstance(step, str) and isinstance(place, dict) and step not in place:
            place[step] = [] if isinstance(steps[k + 1], int) else {}
        place[step] = copy.copy(_inside(place, step, path))
        place = place[step]
    if isinstance(last, str) and isinstance(place, dict):
        place[last] = value
    else:
        _inside(place, last, path)
        place[last] = value


def _inside(place: Any, step: str | int, path: str) -> Any:
    if isinstance(step, int):
        if not isinstance(place, list):
            raise ScenarioError(f'sweep: {path}: [{step}] asks for a list, and there is none')
        if step >= len(place):
            raise ScenarioError(f'sweep: {path}: there is no [{step}], the list has {len(place)}')
        return place[step]
    if not isinstance(place, dict) or step not in place:
        known = list(place) if isinstance(place, dict) else []
        raise ScenarioError(f'sweep: {path}: there is no entry {step!r}{suggestion(step, known)}')
    return place[step]


def names_in(value: Any) -> set[str]:
    """Return the names with ``$`` that stand in an entry."""
    if isinstance(value, str):
        return set(_NAME.findall(value))
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*(names_in(v) for v in value))
    return set()


def filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Return an entry with values in the place of the names with ``$``."""
    if isinstance(value, str):
        alone = _ALONE.fullmatch(value)
        if alone:
            number = names[alone[2]]
            return -number if alone[1] else number
        return _NAME.sub(lambda m: f'({names[m[0]]!r})', value)
    if isinstance(value, list):
        return [filled(v, names) for v in value]
    if isinstance(value, dict):
        return {k: filled(v, names) for k, v in value.items()}
    return value
