"""Rows of the table against reality, models that they fit, and the files of logs they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
import hashlib
import math
from pathlib import Path
import subprocess
from typing import Any, cast

import casadi as ca
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contract.rolling_system import Entry, Layout, Mode, WrittenSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.identify import Residuals
from rolling_dynamics.identification.log import Log
from rolling_dynamics.identification.shooting import Window, window_of
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
        plain = asdict(self)
        del plain['residuals']
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


def judged(found: Residuals | None) -> dict[str, Any]:
    """Return what a row has of its prediction; nothing where there are no logs."""
    if found is None:
        return {}
    error, baseline = np.sqrt(np.mean(np.square(found.errors), axis=1)).tolist()
    return {'error': error, 'baseline': baseline, 'residuals': found}


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


def log_of(table: Array, names: Sequence[str], control: bool = False) -> Log:
    """Return the log in a table: times [s], measured columns, one control; rows in order."""
    keep = np.append(True, np.diff(table[:, 0]) > 0)
    table, last = table[keep], len(names) + 1
    return Log(
        times=table[:, 0],
        lines=np.flatnonzero(keep),
        names=names,
        measured=table[:, 1:last],
        controls=table[:, last:] if control else None,
    )


def between(log: Log, begin: float, end: float) -> Window:
    """Return the window between two times [s] of a log."""
    first, last = np.searchsorted(log.times, (begin, end))
    many = 0 if log.controls is None else log.controls.shape[1]
    return window_of(log, int(first), int(last) - 1, many)


def fetched(
    data: Path | None, repository: str, sha256: Mapping[str, str], commit: str = ''
) -> list[Path] | None:
    """
    Return the files of a repository's logs, or None where they are not there.

    Raises
    ------
    ParameterError
        A file is not the one whose checksum is known, or without one not that of a commit.

    """
    if data is None:
        return None
    paths = [data / repository / name for name in sha256]
    if not all(path.is_file() for path in paths):
        return None
    for path, known in zip(paths, sha256.values(), strict=True):
        if not known:
            same = subprocess.run(  # noqa: S603
                ['git', '-C', path.parent, 'diff', '--quiet', commit, '--', path.name],  # noqa: S607
                check=False,
                capture_output=True,
            )
            if same.returncode:
                raise ParameterError(f'{path}: is not that of {repository} at {commit}')
            continue
        found = hashlib.sha256(read_regular(path, MAX_BYTES)).hexdigest()
        if found != known:
            raise ParameterError(
                f'{path}: has the sha256 {found}, and the log that was evaluated {known}; check '
                'out the version of the repository that has it'
            )
    return paths
