"""Logs of a motion in CSV, with columns mapped to the names of a system's layouts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import csv
from dataclasses import dataclass, replace
import io
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, quoted, suggestion
from rolling_dynamics.scenario.document import read_document

MAX_BYTES = 100_000_000
TIME = 'time'
GAP = 5.0  # times the median interval: a longer one is a gap


@dataclass(frozen=True, kw_only=True)
class Column:
    """
    A column of a CSV file.

    Attributes
    ----------
    name
        Name in the first line of the file, or the column's number from 1 if there is no such line.
    scale, offset
        Factor of a number, and the offset that is then added.
    largest
        Maximum magnitude of a number in the file.
    optional
        Whether a cell may be empty.

    """

    name: str | int
    scale: float = 1.0
    offset: float = 0.0
    largest: float = 1e300
    optional: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """
    Measurements of a motion, and the controls that drove it.

    Attributes
    ----------
    times
        Increasing [s], shape (k,).
    lines
        Lines of the file, shape (k,).
    names, measured
        Components of the state, and their values, NaN if not measured; (k, m).
    controls
        Controls in force until the next row, shape (k, nu); None if the log has none.
    repeated
        Number of rows that were left out because they repeated the time of the previous row.
    still
        Intervals between rows that no window may contain, shape (k - 1,); None for none.
    path
        File of the log.

    """

    times: Array
    lines: NDArray[np.int_]
    names: Sequence[str]
    measured: Array
    controls: Array | None
    repeated: int = 0
    still: NDArray[np.bool_] | None = None
    path: Path = Path('log')

    def from_zero(self) -> Log:
        """Return the log with times that start at 0."""
        return replace(self, times=self.times - self.times[:1])

    def place(self, first: int = 0, last: int = -1) -> str:
        """Return the file, and its lines between two rows, for messages."""
        if not self.lines.size:
            return f'{self.path}: the file'
        return f'{self.path}: lines {self.lines[first]} to {self.lines[last]}'


def read_columns(path: Path, columns: Sequence[Column]) -> tuple[Array, NDArray[np.int_]]:
    """
    Return columns of a CSV file, (k, columns) [units of the mapping], and the line of each row.

    Raises
    ------
    ParameterError
        It cannot be read, a column is missing, or a number is out of range; with the line.

    """
    numbered = any(isinstance(c.name, int) for c in columns)
    try:
        with io.StringIO(read_regular(path, MAX_BYTES).decode(), newline='') as file:
            reader = csv.reader(file, skipinitialspace=True)
            whole = [int(c.name) - 1 for c in columns] if numbered else []
            where = whole or _named(path, columns, next(reader, []))
            rows, lines = [], []
            for row in reader:
                if row:
                    rows.append(list(_row(f'{path}: line {reader.line_num}', columns, where, row)))
                    lines.append(reader.line_num)
    except (UnicodeDecodeError, csv.Error) as e:
        raise ParameterError(f'{path}: cannot be read as CSV: {e}') from None
    return np.array(rows).reshape(-1, len(columns)), np.array(lines, dtype=int)


def _named(path: Path, columns: Sequence[Column], header: Sequence[str]) -> list[int]:
    known = [name.strip() for name in header]
    names = [str(c.name) for c in columns]
    missing = [name for name in names if name not in known]
    if missing:
        raise ParameterError(
            f'{path}: line 1: the columns {", ".join(names)} are needed; {missing[0]!r} is missing'
        )
    return [known.index(name) for name in names]


def _row(
    place: str, columns: Sequence[Column], where: Sequence[int], row: Sequence[str]
) -> Iterator[float]:
    for column, k in zip(columns, where, strict=True):
        given = row[k].strip() if k < len(row) else ''
        try:
            value = math.nan if column.optional and not given else float(given)
        except ValueError:
            value = math.inf
        bad = math.isnan(value) and not column.optional
        if bad or abs(value) > column.largest or math.isinf(value):
            raise ParameterError(
                f'{place}: {column.name} must be a number of at most {column.largest:g} in '
                f'magnitude, got {quoted(given)}'
            )
        yield column.scale * value + column.offset


def read_mapping(path: str | Path) -> dict[str, Column]:
    """Return the columns that a YAML file maps to ``time`` and components."""
    out = {}
    for name, given in read_document(path).items():
        entry = given if isinstance(given, Mapping) else {'column': given}
        numbers = [entry.get('scale', 1.0), entry.get('offset', 0.0)]
        whole = isinstance(entry.get('column'), (str, int)) and not set(entry) - {
            'column',
            'scale',
            'offset',
        }
        if not whole or not all(isinstance(v, (int, float)) for v in numbers) or not numbers[0]:
            raise ParameterError(
                f'{path}: {name}: the name or number of a column is needed, or a mapping with '
                f'column, scale (not 0) and offset; got {quoted(str(given))}'
            )
        out[str(name)] = Column(
            name=entry['column'], scale=float(numbers[0]), offset=float(numbers[1])
        )
    return out


def read_log(path: Path, system: RollingSystem, mapping: Mapping[str, Column] | None) -> Log:
    """
    Return the log of a system's motion in a CSV file.

    Parameters
    ----------
    path
        Path of the file; a cell of a measured column may be empty.
    system
        The system; components of its state may be measured, those of its control drive it.
    mapping
        Columns of ``time`` and of components; None for columns with the names of the components.

    Raises
    ------
    ParameterError
        Columns are missing, nothing is measured, time runs backwards, or a signal is constant.

    """
    state, control, place = system.state.names, system.control.names, str(path)
    if mapping is None:
        header, place = _header(path), f'{path}: line 1'
        mapping = {n: Column(name=n) for n in (TIME, *state, *control) if n in header}
    names, driven = parts_of(place, system, mapping)
    if TIME not in mapping:
        raise ParameterError(f"{place}: no column 'time'; name it so, or map it by --columns")
    columns = [mapping[TIME], *(replace(mapping[n], optional=True) for n in names)]
    table, lines = read_columns(path, [*columns, *(mapping[n] for n in driven)])
    return log_of(path, names, table, lines).from_zero()


def parts_of(
    place: str, system: RollingSystem, mapping: Mapping[str, Column]
) -> tuple[list[str], list[str]]:
    """Return the components of state and control in a mapping; raise if some are missing."""
    state, control = system.state.names, system.control.names
    for name in mapping:
        if name not in {TIME, *state, *control}:
            known = suggestion(name, [TIME, *state, *control])
            raise ParameterError(f'{place}: {quoted(name)} is not in state or control{known}')
    names, driven = ([n for n in part if n in mapping] for part in (state, control))
    if not names:
        raise ParameterError(
            f'{place}: nothing of the state; at least one of {", ".join(state)} is needed, as '
            'columns of these names or by --columns'
        )
    if driven and len(driven) < len(control):
        lacking = ', '.join(n for n in control if n not in mapping)
        raise ParameterError(f'{place}: of the control, {lacking} is missing: give all or none')
    return names, driven


def log_of(
    path: Path, names: Sequence[str], table: Array, lines: NDArray[np.int_] | None = None
) -> Log:
    """Return the log from a table of times, measurements and controls; lines start at 1."""
    lines = np.arange(len(table)) + 1 if lines is None else lines
    _increasing(path, table[:, 0], lines)
    keep = np.append(True, np.diff(table[:, 0]) > 0)[: len(table)]
    table, controls = table[keep], table[keep, 1 + len(names) :]
    log = Log(
        times=table[:, 0],
        lines=lines[keep],
        names=names,
        measured=table[:, 1 : 1 + len(names)],
        controls=controls if controls.size else None,
        repeated=int((~keep).sum()),
        path=path,
    )
    _varying(log)
    return log


def _header(path: Path) -> list[str]:
    first, _, _ = read_regular(path, MAX_BYTES).decode(errors='replace').partition('\n')
    try:
        return [name.strip() for name in next(csv.reader([first]), [])]
    except csv.Error as e:
        raise ParameterError(f'{path}: cannot be read as CSV: {e}') from None


def _increasing(path: Path, times: Array, lines: NDArray[np.int_]) -> None:
    back = np.flatnonzero(np.diff(times) < 0)
    if back.size:
        k = int(back[0])
        raise ParameterError(
            f'{path}: line {lines[k + 1]}: time runs back from {times[k]:.9g} to '
            f'{times[k + 1]:.9g} s; cut the log there, or sort its rows'
        )


def _varying(log: Log) -> None:
    for name, values in zip(log.names, log.measured.T, strict=True):
        known = values[np.isfinite(values)]
        if known.size < 2 or np.ptp(known) == 0:
            what = f'is {known[0]:g} in all rows' if known.size else 'is empty'
            raise ParameterError(
                f'{log.place()}: {name} {what}: a constant signal determines nothing; log a '
                'motion, or leave the column out'
            )


def moving(log: Log, names: Sequence[str], speed: float) -> Log:
    """
    Return a log whose windows contain no rest, by slow or missing components [unit/s].

    A mean speed may be high enough although a body rests or turns back for a part of an interval,
    but not if the speeds before and after are high as well.
    """
    columns = [log.names.index(name) for name in names]
    way = np.linalg.norm(np.diff(log.measured[:, columns], axis=0), axis=1)
    fast = np.concatenate([[False], way > speed * np.diff(log.times), [False]])
    return replace(log, still=~(fast[:-2] & fast[1:-1] & fast[2:]))


def stretches(log: Log) -> list[tuple[int, int]]:
    """Return first and last row of each segment without a gap or a rest."""
    steps = np.diff(log.times)
    parted = steps > GAP * np.median(steps) if steps.size else np.empty(0, bool)
    if log.still is not None:
        parted |= log.still
    gaps = np.flatnonzero(parted)
    starts, ends = [0, *(gaps + 1).tolist()], [*gaps.tolist(), log.times.size - 1]
    return list(zip(starts, ends, strict=True))
