"""Report of an identification, as lines, plain values and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import pairwise
import math
from pathlib import Path
from typing import Any

import numpy as np
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.identification.identify import Found
from rolling_dynamics.identification.log import stretches


def lines(found: Found) -> Iterator[str]:
    """Yield the lines of the report."""
    log = found.log
    for name, e in found.estimates.items():
        yield e.line(name)
    for a, b, related in found.correlated:
        yield f'{a} and {b} cannot be distinguished: their correlation is {related:.3f}'
    yield (
        f'{"":20} {"residual":>12} {"explained":>12} {"predicted":>12} {"velocity held":>14}  '
        f'root mean squares; {found.windows} windows fitted, {found.held_out} held out'
    )
    for name, errors in found.errors.items():
        numbers = f'{errors.predicted:>12.4g} {errors.baseline:>14.4g}'
        yield f'{name:20} {errors.residual:>12.4g} {100 * errors.explained:>10.2f} % {numbers}'
    for guard, count in found.left.items():
        yield f'{guard} is negative in {count} windows, where its mode does not hold'
    gaps = stretches(replace(log, still=None))
    for (_, end), (begin, _) in pairwise(gaps):
        yield (
            f'{log.place(end, begin)}: a gap of {log.times[begin] - log.times[end]:.3g} s, which '
            'no window spans'
        )
    if log.repeated:
        yield f'{log.repeated} rows with the time of the row before were left out'
    if not found.explains:
        yield f'{log.place()}: the model explains nothing: check columns, units and signs'


def to_dict(found: Found) -> dict[str, Any]:
    """Return plain values."""
    errors = {name: asdict(e) for name, e in found.errors.items()}
    for values in errors.values():
        values |= {k: v if math.isfinite(v) else None for k, v in values.items()}
    return {
        'parameters': {name: asdict(e) for name, e in found.estimates.items()},
        'alike': [list(pair) for pair in found.correlated],
        'errors': errors,
        'windows': found.windows,
        'held_out': found.held_out,
        'guards': dict(found.left),
    }


def draw(found: Found, state: Layout, path: Path) -> None:
    """Draw residuals over time and over the model's values, a row for each component."""
    # matplotlib is slow to import
    from rolling_robotics.figures.states import saved_panels  # noqa: PLC0415

    names = list(found.errors)
    units = {c: f' [{e.unit}]' if e.unit else '' for e in state.entries for c in e.components}
    mosaic = ';'.join(2 * chr(65 + 2 * k) + chr(66 + 2 * k) for k in range(len(names)))
    with saved_panels(path, mosaic) as axes:
        for k, name in enumerate(names):
            over, against = axes[chr(65 + 2 * k)], axes[chr(66 + 2 * k)]
            breaks = np.flatnonzero(np.diff(found.times) <= 0) + 1
            times, off = (
                np.insert(v, breaks, np.nan) for v in (found.times, found.residuals[:, k])
            )
            over.plot(times, off)
            over.set(xlabel='time [s]', ylabel=f'residual of {name}{units[name]}')
            against.plot(found.states[:, k], found.residuals[:, k], '.')
            against.set(xlabel=f'{name}{units[name]}')
