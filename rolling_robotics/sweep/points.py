# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""Points of a sweep: entries that are varied, and a point that is tried first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import copy
from dataclasses import dataclass
from functools import lru_cache
import hashlib
import json
import math
import re
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import RollingError, ScenarioError, suggestion
from rolling_dynamics.scenario.control import LARGEST
from rolling_dynamics.scenario.document import line_numbers, plain, shorten
from rolling_dynamics.scenario.faults import check, located
from rolling_dynamics.scenario.fields import (
    either,
    entry,
    note,
    Number,
    quantity,
    Section,
    several,
    whole,
)
from rolling_dynamics.scenario.scenario import check_plain, load_plain

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
    Set the value of an entry.

    Mappings and lists along the path are copied first, as they may belong to other documents too;
    missing ones are created.
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
    """Return the names with ``$`` in an entry."""
    if isinstance(value, str):
        return set(_NAME.findall(value))
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*(names_in(v) for v in value))
    return set()


def filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Return an entry with values instead of the names with ``$``."""
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


MOST = 10_000_000  # points of a sweep
FORMAT = 1  # of the rows; another one makes another hash


class RangeSection(Section):
    """Evenly spaced numbers."""

    start: Number = Field(alias='from')
    to: float = quantity()
    count: int | None = whole('', 1, default=None)
    spacing: Literal['linear', 'log'] = 'linear'

    def at(self, fractions: Array) -> list[float]:
        """Return the numbers at a vector of fractions of the way from the first to the last."""
        if self.spacing == 'log':
            ratio = math.log(self.to / self.start)
            return [float(v) for v in self.start * np.exp(ratio * fractions)]
        return [float(v) for v in self.start + (self.to - self.start) * fractions]


Axis = RangeSection | list[Any]


class Samples(Section):
    """Points drawn from the ranges and lists; without it every combination is taken."""

    count: int = whole('how many points', 1, MOST)
    seed: int = whole('of the random numbers', 0, default=0)
    method: Literal['latin_hypercube', 'random'] = note('', default='latin_hypercube')


class SweepSection(Section):
    """Entries that `rolling sweep` varies."""

    vary: dict[
        str,
        Annotated[
            Axis,
            entry(either(several=several(Any, (1, None)), mapping=RangeSection)),
        ],
    ] = note(
        'by name of an entry, such as `friction.mu` or `masses[0].theta`: a list of values, or '
        '`from`, `to` and `count`; a name that begins with `$` is a variable for `set`',
        min_length=1,
        default={},
    )
    set: dict[str, Any] = note(
        'entries that follow from what is varied: values or formulas in which names with `$` '
        "stand for theirs, such as `masses[0].drive: '-$a*sin(t)'`",
        default={},
    )
    samples: Samples | None = note(default=None)


@dataclass(frozen=True, eq=False)
class Sweep:
    """
    A scenario and its varied entries.

    Attributes
    ----------
    document
        The scenario as plain data, without its section ``sweep``.
    names
        Varied entries: paths, and names with ``$``.
    axes
        Range or list of values of each name.
    columns
        Values of each name, one for each point.
    follows
        Entries that follow: path -> value with names.

    """

    document: Mapping[str, Any]
    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    columns: tuple[Sequence[Any], ...]
    follows: Mapping[str, Any]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.columns[0])

    def values(self, k: int) -> dict[str, Any]:
        """Return the values of the varied entries at a point."""
        return {n: column[k] for n, column in zip(self.names, self.columns, strict=True)}

    def hash(self) -> str:
        """Return the content hash of the scenario with all its points."""
        content = [FORMAT, self.document, self.names, [list(c) for c in self.columns]]
        text = json.dumps([*content, self.follows], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def document_at(
    document: Mapping[str, Any], follows: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the scenario of a point as plain data."""
    out: dict[str, Any] = dict(document)
    for name, value in values.items():
        if not name.startswith('$'):
            with_entry(out, name, value)
    for path, value in follows.items():
        with_entry(out, path, filled(value, values))
    return out


@line_numbers
def read_sweep(document: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Sweep:
    """
    Return the sweep that a scenario asks for.

    Parameters
    ----------
    document
        The scenario as plain data.
    given
        Entries that replace the ones of its section ``sweep``; ``vary`` adds to it.

    Raises
    ------
    ScenarioError
        There is nothing to vary, or an entry is wrong.

    """
    own, given = document.get('sweep') or {}, plain(given or {}, 'sweep')
    check(SweepSection, own, 'sweep')
    vary = {**own.get('vary', {}), **given.get('vary', {})}
    section = own | {k: v for k, v in given.items() if v} | ({'vary': vary} if vary else {})
    if 'vary' not in section:
        raise ScenarioError(
            'sweep.vary: is missing: name the entries to vary in the scenario, or with --vary'
        )
    sweep = check(SweepSection, section, 'sweep')
    _check_names(vary, sweep.set)
    ranges = sweep.vary
    for name, given_range in ranges.items():
        if isinstance(given_range, RangeSection):
            _check_range(sweep, name, given_range)
    columns = _sampled(sweep.samples, ranges) if sweep.samples else _grid(ranges)
    rest = {k: v for k, v in document.items() if k != 'sweep'}
    return Sweep(rest, tuple(ranges), tuple(ranges.values()), columns, sweep.set)


def _check_names(vary: Mapping[str, Any], follows: Mapping[str, Any]) -> None:
    for path in [*(n for n in vary if not n.startswith('$')), *follows]:
        steps_of(path)
    variables = {n for n in vary if n.startswith('$')}
    used = names_in(dict(follows))
    for name in sorted(used - variables):
        raise ScenarioError(f'sweep.set: {name} is not varied; put it into sweep.vary')
    for name in sorted(variables - used):
        raise ScenarioError(f'sweep.vary: {name} is used in no entry of sweep.set')


def _check_range(sweep: SweepSection, name: str, given: RangeSection) -> None:
    low, high, path = given.start, given.to, f'sweep.vary.{name}'
    log = given.spacing == 'log'
    if log and not (low * high > 0 and math.isfinite(high / low) and high / low > 0):
        raise ScenarioError(
            f'{path}.spacing: log needs ends of one sign, not 0 or too near to it, got {low:g}, '
            f'{high:g}'
        )
    if sweep.samples is None and given.count is None:
        raise ScenarioError(f'{path}.count: is missing; without samples, a range needs a count')


def _grid(ranges: Mapping[str, Axis]) -> tuple[list[Any], ...]:
    """Return every combination, the last name varying fastest."""
    count = math.prod(len(r) if isinstance(r, list) else r.count or 1 for r in ranges.values())
    if count > MOST:
        got = f'{count} combinations' if count < LARGEST else 'more combinations than that'
        raise ScenarioError(f'sweep.vary: at most {MOST} combinations are possible, got {got}')
    lists = [
        r if isinstance(r, list) else r.at(np.linspace(0, 1, r.count or 1))
        for r in ranges.values()
    ]
    index = np.unravel_index(np.arange(count), [len(values) for values in lists])
    return tuple([values[i] for i in k] for values, k in zip(lists, index, strict=True))


def _sampled(samples: Samples, ranges: Mapping[str, Axis]) -> tuple[list[Any], ...]:
    from scipy.stats import qmc  # noqa: PLC0415  (heavy)

    count, rng = samples.count, np.random.default_rng(samples.seed)
    if samples.method == 'random':
        fractions = rng.random((count, len(ranges)))
    else:
        with located('sweep.samples'):
            fractions = qmc.LatinHypercube(len(ranges), rng=rng).random(count)
    out = []
    for fraction, values in zip(fractions.T, ranges.values(), strict=True):
        if isinstance(values, RangeSection):
            out.append(values.at(fraction))
        else:
            out.append([values[int(k)] for k in fraction * len(values)])
    return tuple(out)


PROBES = 3  # points that are read: the first, the last, those between
MOST_VALUES = 1000  # of a list that are checked


def probe(sweep: Sweep) -> tuple[int, list[str]]:
    """
    Check each value that is varied, and read some points.

    Returns
    -------
    int, list
        Number of a point that can be run, and the errors of others that were read.

    Raises
    ------
    ScenarioError
        A value has the wrong type, is out of range or is not a formula, or no point that was read
        can be run.

    """
    start = sweep.values(0)
    for name, value in _varied_values(sweep):
        try:
            check_plain(document_at(sweep.document, sweep.follows, start | {name: value}))
        except RollingError as e:
            where = f'sweep.vary.{name}: with the value {shorten(value)}'
            lines = (f'{where}: {line}' for line in str(e).splitlines())
            raise ScenarioError('\n'.join(lines)) from None
    good, refused, errors = None, [], []
    for k in sorted({k * (len(sweep) - 1) // (PROBES - 1) for k in range(PROBES)}):
        try:
            load_plain(document_at(sweep.document, sweep.follows, sweep.values(k)))
        except RollingError as e:
            errors.append(e)
            refused += [f'point {k}: {line}' for line in str(e).splitlines()]
        else:
            good = k if good is None else good
    if good is None:
        raise errors[0]
    return good, refused


def _varied_values(sweep: Sweep) -> Iterator[tuple[str, Any]]:
    """Yield each name with each of its values, a range's with its ends."""
    for name, axis in zip(sweep.names, sweep.axes, strict=True):
        values = [axis.start, axis.to] if isinstance(axis, RangeSection) else axis[:MOST_VALUES]
        for value in values:
            yield name, value
