"""A log of a ball balancer: when a frame came, where the ball was, what was commanded then."""

from __future__ import annotations

import csv
from dataclasses import dataclass
import io
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rolling_controller.lockstep import ClosedLoop
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.regular_file import read_regular
from rolling_dynamics.text import quoted

Array = NDArray[np.float64]
COLUMNS = ('time', 'ball_x', 'ball_y', 'tilt_x', 'tilt_y')
FEWEST = 100  # rows
MAX_BYTES = 100_000_000  # hours of frames
LARGEST = {'time': 1e9, 'ball': 1.0, 'tilt': 1e5}  # magnitudes that a log can have [s, m, counts]


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """
    What a rig knows of its own motion.

    Attributes
    ----------
    times
        At which a frame had come and the command was sent [s], increasing, shape (k,).
    ball
        Where the ball was in the frame [m], not a number where it was not seen, shape (k, 2).
    tilt
        What was commanded, until the next row [counts that pull along x and y], shape (k, 2).

    """

    times: Array
    ball: Array
    tilt: Array


def read_log(path: Path) -> Log:
    """
    Return the log in a CSV file with the columns time, ball_x, ball_y, tilt_x, tilt_y.

    Parameters
    ----------
    path
        The file; other columns do not matter, an empty place is a frame without a ball.

    Raises
    ------
    ParameterError
        It cannot be read, with the line that is wrong.

    """
    try:
        with io.StringIO(read_regular(path, MAX_BYTES).decode(), newline='') as file:
            reader = csv.DictReader(file)
            missing = [c for c in COLUMNS if c not in (reader.fieldnames or ())]
            if missing:
                raise ParameterError(
                    f'{path}: the columns {", ".join(COLUMNS)} are needed; {missing[0]!r} is '
                    'missing'
                )
            rows = [_row(path, reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as e:
        raise ParameterError(f'{path}: cannot be read as CSV: {e}') from None
    table = np.array(rows).reshape(-1, len(COLUMNS))
    return checked_log(path, Log(times=table[:, 0], ball=table[:, 1:3], tilt=table[:, 3:]))


def checked_log(path: Path, log: Log) -> Log:
    """Return a log of a file; raise ParameterError if it is short or its time goes back."""
    count = len(log.times)
    if count < FEWEST:
        raise ParameterError(f'{path}: at least {FEWEST} rows are needed, got {count}')
    late = np.flatnonzero(np.diff(log.times) <= 0)
    if late.size:
        raise ParameterError(f'{path}: time must increase, it does not in row {late[0] + 2}')
    return log


def _row(path: Path, line: int, row: dict[str, str | None]) -> list[float]:
    out = []
    for name in COLUMNS:
        given = (row[name] or '').strip()
        try:
            value = math.nan if name.startswith('ball') and not given else float(given)
        except ValueError:
            value = math.inf
        quantity = name.split('_')[0]
        if abs(value) > LARGEST[quantity] or (math.isnan(value) and quantity != 'ball'):
            raise ParameterError(
                f'{path}: line {line}: {name} must be a number of at most '
                f'{LARGEST[quantity]:g} in magnitude, got {quoted(given)}'
            )
        out.append(value)
    return out


def write_log(path: Path, log: Log) -> None:
    """Write a log as CSV."""
    with path.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for t, ball, tilt in zip(log.times, log.ball, log.tilt, strict=True):
            seen = [f'{v:.7g}' if math.isfinite(v) else '' for v in ball]
            writer.writerow([f'{t:.6f}', *seen, *(f'{v:g}' for v in tilt)])


def log_of(run: ClosedLoop, delay: float) -> Log:
    """Return what the rig logged in a run: times of arrival, a delay after the frames [s]."""
    return Log(times=run.stamps + delay, ball=run.inputs[:, :2], tilt=run.outputs)
