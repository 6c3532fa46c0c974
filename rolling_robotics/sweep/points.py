# ruff: noqa: ANN401 (entries of a YAML file may be anything)
"""What a sweep visits: the section ``sweep`` of a scenario as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
import hashlib
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.scenario.document import plain
from rolling_dynamics.scenario.formulas import LARGEST
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema
from rolling_robotics.sweep.entries import filled, names_in, steps_of, with_entry

MOST = 10_000_000  # points of a sweep
FORMAT = 1  # of the rows; another one makes another hash


@dataclass(frozen=True, eq=False)
class Range:
    """Evenly spaced numbers; by their logarithm where ``log``."""

    low: float
    high: float
    count: int | None
    log: bool

    def at(self, share: NDArray[np.float64]) -> list[float]:
        """Return the numbers at shares of the way from the first to the last."""
        if self.log:
            ratio = math.log(self.high / self.low)
            return [float(v) for v in self.low * np.exp(ratio * share)]
        return [float(v) for v in self.low + (self.high - self.low) * share]


@dataclass(frozen=True, eq=False)
class Sweep:
    """
    A scenario and what is varied in it.

    Attributes
    ----------
    document
        The scenario as plain data, without its section ``sweep``.
    names
        What is varied: paths of entries, and names with ``$``.
    axes
        Range or list of values of each name.
    columns
        Values of each name, one for each point.
    follows
        Entries that follow: path -> value with names.

    """

    document: Mapping[str, Any]
    names: tuple[str, ...]
    axes: tuple[Range | list[Any], ...]
    columns: tuple[Sequence[Any], ...]
    follows: Mapping[str, Any]

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.columns[0])

    def values(self, k: int) -> dict[str, Any]:
        """Return what is varied, at a point."""
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


def sweep_schema() -> dict[str, Any]:
    """Return the schema of the section ``sweep``."""
    return load_schema('rolling_robotics.sweep', 'sweep')


@cache
def _unfinished_schema() -> dict[str, Any]:
    """Return the schema of a section to which the command line adds."""
    return sweep_schema() | {'required': []}


def read_sweep(document: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Sweep:
    """
    Return the sweep that a scenario asks for.

    Parameters
    ----------
    document
        The scenario as plain data.
    given
        Entries that stand in for those of its section ``sweep``; ``vary`` adds to that.

    Raises
    ------
    ScenarioError
        There is nothing to vary, or an entry is wrong.

    """
    own, given = document.get('sweep') or {}, plain(given or {}, 'sweep')
    check(own, _unfinished_schema(), 'sweep')
    vary = {**own.get('vary', {}), **given.get('vary', {})}
    section = own | {k: v for k, v in given.items() if v} | ({'vary': vary} if vary else {})
    if 'vary' not in section:
        raise ScenarioError(
            'sweep.vary: is missing: name the entries to vary in the scenario, or with --vary'
        )
    check(section, sweep_schema(), 'sweep')
    follows = section.get('set', {})
    _check_names(vary, follows)
    top = Section(section, 'sweep')
    ranges = {name: _values(top, name, v) for name, v in vary.items()}
    columns = _sampled(top, ranges) if 'samples' in section else _grid(ranges)
    rest = {k: v for k, v in document.items() if k != 'sweep'}
    return Sweep(rest, tuple(ranges), tuple(ranges.values()), columns, follows)


def _check_names(vary: Mapping[str, Any], follows: Mapping[str, Any]) -> None:
    for path in [*(n for n in vary if not n.startswith('$')), *follows]:
        steps_of(path)
    variables = {n for n in vary if n.startswith('$')}
    used = names_in(dict(follows))
    for name in sorted(used - variables):
        raise ScenarioError(f'sweep.set: {name} is not varied; put it into sweep.vary')
    for name in sorted(variables - used):
        raise ScenarioError(f'sweep.vary: {name} stands in no entry of sweep.set')


def _values(top: Section, name: str, given: Any) -> Range | list[Any]:
    if isinstance(given, list):
        return given
    section = Section(given, f'sweep.vary.{name}')
    low, high = section.number('from'), section.number('to')
    log = section.get('spacing') == 'log'
    if log and not (low * high > 0 and math.isfinite(high / low) and high / low > 0):
        raise section.fail(
            'spacing',
            f'log needs ends of one sign, not 0 or too near to it, got {low:g}, {high:g}',
        )
    if 'samples' not in top and 'count' not in section:
        raise section.fail('count', 'is missing; without samples, a range needs a count')
    return Range(low, high, section.get('count'), log)


def _grid(ranges: Mapping[str, Range | list[Any]]) -> tuple[list[Any], ...]:
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


def _sampled(top: Section, ranges: Mapping[str, Range | list[Any]]) -> tuple[list[Any], ...]:
    from scipy.stats import qmc  # noqa: PLC0415  (heavy)

    section = top.section('samples')
    count, rng = section['count'], np.random.default_rng(section.get('seed', 0))
    if section.get('method', 'latin_hypercube') == 'random':
        shares = rng.random((count, len(ranges)))
    else:
        with located(section.path):
            shares = qmc.LatinHypercube(len(ranges), rng=rng).random(count)
    out = []
    for share, values in zip(shares.T, ranges.values(), strict=True):
        if isinstance(values, Range):
            out.append(values.at(share))
        else:
            out.append([values[int(k)] for k in share * len(values)])
    return tuple(out)
