"""The log that a rig is identified from, and the experiment that makes one."""

from __future__ import annotations

from collections.abc import Generator
import csv
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer import protocol
from rolling_controller.law import answered, Law
from rolling_controller.lockstep import ClosedLoop
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import emulated_rig
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.log import Column, read_columns
from rolling_dynamics.simulation.emulation import Emulation

COLUMNS = ('time', 'ball_x', 'ball_y', 'tilt_x', 'tilt_y')
FEWEST = 100  # rows
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
    columns = [
        Column(name=name, largest=LARGEST[name.split('_')[0]], optional=name.startswith('ball'))
        for name in COLUMNS
    ]
    table, _ = read_columns(path, columns)
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


JUMPING = 80.0  # s, of jumps of the set point
PUT = 20  # times that the ball is put down after them
IN_HAND, PUT_DOWN = 1.0, 1.0  # s before the ball is put down, and after that
LEAST, MOST, FARTHEST = 6.0, 30.0, 0.035  # counts of tilt, and m from the middle
GOLDEN = (math.sqrt(5) - 1) / 2  # spreads what is counted evenly


def put_down() -> tuple[Array, Array]:
    """Return where the ball is put down, shape (20, 2) [m], and the tilts then [counts]."""
    k = np.arange(PUT)
    round_, turn = 2 * math.pi * GOLDEN * k, 2 * math.pi * math.sqrt(2) * k
    far = FARTHEST * np.sqrt((k + 0.5) / PUT)[:, None]
    steep = LEAST + (MOST - LEAST) * np.mod(math.sqrt(3) * k[:, None] + 0.5, 1.0)
    places, ways = (np.column_stack([np.cos(a), np.sin(a)]) for a in (round_, turn))
    return far * places, np.round(steep * ways)


def set_points() -> Array:
    """
    Return the experiment as rows of time [s], set point [m] and tilt [counts], shape (k, 5).

    The tilt is not a number while a law takes the ball to the set point. After that the plate is
    held at each tilt; the ball is in the hand, and is put down at the set point halfway.
    """
    jumps = np.arange(protocol.BEGIN, JUMPING, protocol.LAST)
    rows = [[t, *protocol.jumps(t), math.nan, math.nan] for t in (0.0, *jumps)]
    each = IN_HAND + PUT_DOWN
    for k, (place, tilt) in enumerate(zip(*put_down(), strict=True)):
        rows.append([JUMPING + k * each, *place, *tilt])
    return np.array(rows)


def emulated(file: BallBalancerFile, law: Law[Any], seed: int, jumping: float = JUMPING) -> Log:
    """
    Return the log of the experiment on an emulated rig.

    Parameters
    ----------
    file
        The rig.
    law
        It takes the ball to the set points.
    seed
        Random seed of maps and camera.
    jumping
        How long the set point jumps [s].

    """
    rig, T = emulated_rig(file, seed), 1 / file.camera.rate
    system, _ = file.system_and_parameters(seed)
    places, tilts = put_down()

    def motion() -> Generator[tuple[float, ArrayLike], Array, list[Any]]:
        rows, was = [], 0.0
        for k in range(math.floor((jumping + PUT * (IN_HAND + PUT_DOWN)) / T) + 1):
            for frame in rig.advance(k * T + file.camera.delay):
                place, after = frame.value[:2], frame.arrival - jumping
                if after < 0:
                    tilt = yield frame.stamp, [*place, *protocol.jumps(frame.arrival)]
                else:
                    n, since = divmod(after, IN_HAND + PUT_DOWN)
                    tilt = tilts[min(int(n), PUT - 1)]
                    if since < IN_HAND:
                        _put(rig, np.zeros(2))
                    elif was < IN_HAND:
                        _put(rig, places[min(int(n), PUT - 1)])
                    if since < IN_HAND or was < IN_HAND:  # a hand is on it, or was since
                        place = np.full(2, math.nan)
                    was = since
                rig.send(file.command(system, rig.p, tilt), frame.arrival)
                rows.append((frame.arrival, *place, *tilt))
            if rig.state.ended is not None:
                break
        return rows

    table = np.array(answered(law, motion())[0])
    return Log(times=table[:, 0], ball=table[:, 1:3], tilt=table[:, 3:])


def _put(rig: Emulation, ball: Array) -> None:
    """Put the ball at rest at a position (2) [m], as by hand; the servos go on."""
    x = rig.state.x.copy()
    x[:2], x[2:4] = ball, 0.0
    rig.put(x)
