"""Rows of the table against reality, models that they fit, and the files of logs they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
import hashlib
import math
from pathlib import Path
from typing import Any, cast, NamedTuple

import casadi as ca
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contract.rolling_system import Entry, Layout, Mode, WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.identify import Residuals
from rolling_dynamics.identification.log import Log
from rolling_dynamics.identification.shooting import Window
from rolling_robotics.figures.states import COLOURS, GREY

MET, NOT_MET, NOT_FETCHED, STATED = 'met', 'not met', 'not fetched', 'computed'
MAX_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    A prediction of what was measured.

    Attributes
    ----------
    name, unit
        What is predicted, root mean square.
    fitted, held_out
        The parts of the logs that parameters come from, and that are predicted.
    values
        How values that were found stand behind ``fitted``, to be formatted.
    error, baseline
        Of the prediction, and of the last velocity held; None where the logs are not there.
    rival, published
        What another model reaches on the held-out part, and what that is; None for nothing.
    goal
        Greatest error that meets it; None for no goal.
    lacks
        What the model lacks, in a sentence.
    residuals
        Of the prediction over time; None without logs.

    """

    name: str
    unit: str
    fitted: str
    held_out: str
    error: float | None = None
    baseline: float | None = None
    rival: float | None = None
    published: str = ''
    goal: float | None = None
    lacks: str = ''
    values: str = ''
    residuals: Residuals | None = None

    @property
    def verdict(self) -> str:
        """``met``, ``not met``, ``computed`` without a goal, or ``not fetched``."""
        if self.error is None:
            return NOT_FETCHED
        if self.goal is None:
            return STATED
        return MET if self.error <= self.goal else NOT_MET

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = asdict(replace(self, residuals=None))
        del plain['residuals'], plain['values']
        return {**plain, 'verdict': self.verdict}


def table(rows: list[Row]) -> str:
    """Return rows as text."""
    width = max(len(r.name) for r in rows)
    lines = [f'{"":{width}}  {"error":>8}  {"held":>8}  {"rival":>8}  {"goal":>6}  verdict']
    for r in rows:
        numbers = (r.error, r.baseline, r.rival)
        shown = '  '.join(f'{"-" if v is None else format(v, ".3g"):>8}' for v in numbers)
        goal = '-' if r.goal is None else f'{r.goal:g}'
        lines.append(f'{r.name:{width}}  {shown}  {goal:>6}  {r.verdict:<11}  {r.unit}')
        lines += [f'{"":{width}}  fitted: {r.fitted}', f'{"":{width}}  held out: {r.held_out}']
        lines += [f'{"":{width}}  rival: {r.published}'] if r.published else []
    return '\n'.join(lines)


class Found(NamedTuple):
    """Values that were found, and residuals of the model and of its rival."""

    values: Sequence[float] | Array
    ours: Residuals
    rival: Residuals | None = None


def judged(row: Row, found: Found | None) -> Row:
    """Return a row with what was found, the same where there are no logs."""
    if found is None:
        return row
    error, baseline = np.sqrt(np.mean(np.square(found.ours.errors), axis=1)).tolist()
    return replace(
        row,
        fitted=row.fitted + row.values.format(*found.values),
        error=error,
        baseline=baseline,
        rival=found.rival and float(np.sqrt(np.mean(np.square(found.rival.errors[0])))),
        residuals=found.ours,
    )


def residual_figure(rows: Sequence[Row]) -> Figure:
    """Return a panel of residuals for each row, the last velocity held in grey."""
    figure = Figure(figsize=(10, 2 * math.ceil(len(rows) / 3)), layout='constrained')
    for k, row in enumerate(rows):
        panel = figure.add_subplot(math.ceil(len(rows) / 3), 3, k + 1)
        times, off = cast('Residuals', row.residuals)
        panel.plot(times, off[:, 1], color=GREY, linewidth=0.6)
        panel.plot(times, off[:, 0], color=COLOURS[0])
        most = 1.5 * np.nanmax(np.abs(off[:, 0]))
        panel.set(xlabel='time [s]', ylabel=f'[{row.unit}]', ylim=(-most, most))
        panel.set_title(row.name, fontsize=8)
    drawn = [panel.lines[0], panel.lines[-1]]
    figure.legend(drawn, ['last velocity held', 'model'], loc='outside upper center', ncols=2)
    return figure


Scalars = list[ca.SX]


def scalars(names: str) -> Layout:
    """Return a layout of numbers with these names."""
    return Layout(tuple(Entry(name, (name,), '') for name in names.split()))


class Model(WrittenSystem):
    """A system of one mode, by the rates of its state."""

    name = 'logged'

    def __init__(
        self,
        rates: Callable[[Scalars, Scalars, Scalars], Sequence[ca.SX]],
        state: Layout,
        parameters: str,
        control: str = '',
    ) -> None:
        """Take rates of state, control and parameters, the state, and names of the others."""
        self.rates, self.state = rates, state
        self.parameters, self.control = scalars(parameters), scalars(control)

    @cached_property
    def modes(self) -> dict[str, Mode]:
        """The only mode."""
        x, u, _, p = self.symbols
        rates = self.rates(*(ca.vertsplit(v) if v.numel() else [] for v in (x, u, p)))
        return {'moving': Mode(dynamics=self.function('rates', ca.vertcat(*rates)))}


def between(log: Log, begin: float, end: float) -> Window:
    """Return the window between two times [s] of a log."""
    first, last = np.searchsorted(log.times, (begin, end))
    many = 0 if log.controls is None else log.controls.shape[1]
    return Window(log, int(first), int(last) - 1, many)


def whole(path: Path) -> bytes:
    """Return what stands in a file."""
    return read_regular(path, MAX_BYTES)


def fetched(
    data: Path | None,
    repository: str,
    sha256: Mapping[str, str],
    content: Callable[[Path], bytes] = whole,
) -> list[Path] | None:
    """
    Return the files of a repository's logs, or None where they are not there.

    Raises
    ------
    ParameterError
        The content of a file is not that whose checksum is known.

    """
    if data is None:
        return None
    paths = [data / repository / name for name in sha256]
    if not all(path.is_file() for path in paths):
        return None
    for path, known in zip(paths, sha256.values(), strict=True):
        found = hashlib.sha256(content(path)).hexdigest()
        if found != known:
            raise ParameterError(
                f'{path}: has the sha256 {found}, and the log that was evaluated {known}; check '
                'out the version of the repository that has it'
            )
    return paths
