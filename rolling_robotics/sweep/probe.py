"""Reading points of a sweep before any is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from rolling_dynamics.errors import RollingError, ScenarioError
from rolling_dynamics.scenario.document import shorten
from rolling_dynamics.scenario.registry import check_plain, load_plain
from rolling_robotics.sweep.points import document_at, Range, Sweep

PROBES = 3  # points that are read: the first, the last, those between
MOST_VALUES = 1000  # of a list that are checked


class Probed(NamedTuple):
    """Number of a point that can be run, and what is wrong with others that were read."""

    good: int
    refused: list[str]


def probe(sweep: Sweep) -> Probed:
    """
    Check each value that is varied, and read some points.

    Raises
    ------
    ScenarioError
        A value is of the wrong kind, is out of range or is not a formula, or no point that was
        read can be run.

    """
    start = sweep.values(0)
    for name, value in _values(sweep):
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
    return Probed(good, refused)


def _values(sweep: Sweep) -> Iterator[tuple[str, Any]]:
    """Yield each name with each of its values, a range's with its ends."""
    for name, axis in zip(sweep.names, sweep.axes, strict=True):
        values = [axis.low, axis.high] if isinstance(axis, Range) else axis[:MOST_VALUES]
        for value in values:
            yield name, value
