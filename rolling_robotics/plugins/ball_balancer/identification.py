"""Identification of a ball balancer from a log or a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import csv
from dataclasses import asdict
import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
import numpy as np
from rolling_controller.ball_balancer.identification import identify as likelihood
from rolling_controller.ball_balancer.identification import log as of_a_rig
from rolling_controller.ball_balancer.identification.identify import Identified
from rolling_controller.ball_balancer.identification.log import (
    checked_log,
    Log,
    read_log,
    write_log,
)
from rolling_controller.ball_balancer.laws import pid_law
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, rig_of
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_robotics.figures.states import saved_panels
from rolling_robotics.recordings.recorded_topics import read_poses, read_targets
from scipy.special import ndtri

SHOWN = 12.0  # s, of the accelerations
MILLI = 1e3
MEASURED, MODEL = '#1f6fb4', '#c1440e'


def draw_fit(found: Identified, path: Path) -> None:
    """
    Draw accelerations beside the model's, residuals beside their normal quantiles, and the maps.

    Parameters
    ----------
    found
        What was identified.
    path
        Of the PNG file.

    """
    with saved_panels(path, 'aaa;bcd') as axes:
        _accelerations(axes['a'], found)
        _residuals(axes['b'], found.residuals)
        _offsets(axes['c'], found.offset_map)
        _breakaway(axes['d'], found.breakaway_map)


def _accelerations(axis: Axes, found: Identified) -> None:
    early = found.times < found.times[0] + SHOWN
    times, (measured, model) = found.times[early], found.accelerations[early, :, 0].T
    axis.plot(times, measured, '.', color=MEASURED, label='measured along x')
    gaps = 1 + np.flatnonzero(np.diff(times) > 2 * np.median(np.diff(times)))
    line = (np.insert(values, gaps, np.nan) for values in (times, model))
    axis.plot(*line, color=MODEL, label='model')
    axis.set(xlabel='time [s]', ylabel='mean over two frames [m/s²]')


def _residuals(axis: Axes, residuals: Array) -> None:
    ordered = np.sort(residuals.ravel())
    expected = ndtri((np.arange(ordered.size) + 0.5) / ordered.size)
    axis.plot(expected, expected, color=MODEL)
    axis.plot(expected, ordered, '.', color=MEASURED)
    axis.set(xlabel='normal quantiles', ylabel='residuals, in units of their noise')


def _offsets(axis: Axes, table: Array) -> None:
    x, y, *offset = table[:, :4].T
    arrows = axis.quiver(MILLI * x, MILLI * y, *offset, angles='xy', color=MODEL)
    axis.quiverkey(arrows, 0.3, 1.06, 10, 'offset of 10 counts', labelpos='E')
    axis.set(xlabel='x [mm]', ylabel='y [mm]', aspect='equal')
    axis.margins(0.1)


def _breakaway(axis: Axes, table: Array) -> None:
    x, y, tilt = table[:, :3].T
    points = axis.scatter(MILLI * x, MILLI * y, c=tilt, s=60)
    if tilt.size:
        axis.figure.colorbar(points, ax=axis, label='breakaway tilt [counts]')
    axis.set(xlabel='x [mm]', ylabel='y [mm]', aspect='equal')


BALL, ANGLES = 'vision/object_pose', 'servo_command'


def recorded_log(folder: Path, rig: BallBalancerFile) -> Log:
    """
    Return the log in a recording, a row for each frame.

    A command is that of the frame whose stamp it has; where a frame was not answered, the command
    before goes on.

    Parameters
    ----------
    folder
        Folder of the recording, or the MCAP file in it.
    rig
        Names of the servos, and the tilt that their angles give.

    Raises
    ------
    ParameterError
        A topic is missing, no frame was answered, or stamps go back.

    """
    frames = read_poses(folder, BALL)
    system, p = rig.system_and_parameters()
    names = list(system.state.entry('servo').components)
    stamps, angles = read_targets(folder, ANGLES, names)
    new = np.append(True, np.diff(frames.stamps) != 0)  # a frame is sent again if it is not heard
    times, ball = frames.stamps[new], frames.p[new, :2]
    known = np.isfinite(angles).all(axis=1)
    sent = dict(zip(stamps[known].tolist(), rig.tilts(system, p, angles[known]), strict=True))
    if not any(t in sent for t in times.tolist()):
        raise ParameterError(
            f'{folder}: no message on {ANGLES!r} has the stamp of one on {BALL!r}; the controller '
            'must stamp its answer to a frame as the frame is'
        )
    tilt, newest = np.zeros_like(ball), np.zeros(2)
    for k, t in enumerate(times.tolist()):
        newest = tilt[k] = sent.get(t, newest)
    return checked_log(folder, Log(times=times - times[0], ball=ball, tilt=tilt))


JUMPING = of_a_rig.JUMPING  # s, of jumps in an emulated log


def identify(path: Path, scenario: Scenario | None) -> Identified:
    """Return the numbers of the rig that wrote a log; a recording needs its scenario."""
    if scenario is None:
        return likelihood.identify(read_log(path))
    return likelihood.identify(recorded_log(path, rig_of(scenario)))


def emulate(scenario: Scenario, path: Path, seed: int) -> None:
    """Write the log of the experiment on the rig of a scenario."""
    file = rig_of(scenario)
    write_log(path, of_a_rig.emulated(file, pid_law(RigModel.of(file)), seed, JUMPING))


def experiment(path: Path) -> None:
    """Write set points and tilts over time as CSV, whose log says what is identified."""
    with path.open('w', encoding='utf-8', newline='') as file:
        writer = csv.writer(file)
        writer.writerow(('time', 'goal_x', 'goal_y', 'tilt_x', 'tilt_y'))
        for row in of_a_rig.set_points():
            writer.writerow('' if math.isnan(v) else f'{v:.6g}' for v in row)


def lines(found: Identified) -> Iterator[str]:
    """Yield what is printed."""
    for name, n in found.numbers.items():
        yield n.line(name)
    yield f'{"noise of a place":20} {found.noise[0]:12.3g} m'
    yield f'{"explained":20} {100 * found.fit:12.2f} % of {found.times.size} second differences'


def draw(found: Identified, path: Path) -> None:
    """Draw the fit, its residuals and both maps as PNG."""
    # matplotlib is slow to import
    from rolling_robotics.plugins.ball_balancer.identification import draw_fit  # noqa: PLC0415

    draw_fit(found, path)


def complete(found: Identified) -> bool:
    """Return whether the log reported every number."""
    return all(n.half_width is not None for n in found.numbers.values())


def to_dict(found: Identified) -> dict[str, Any]:
    """Return plain values."""
    numbers = {name: asdict(n) for name, n in found.numbers.items()}
    for n in numbers.values():
        n['value'] = n['value'] if math.isfinite(n['value']) else None
    offsets = ('x', 'y', 'offset_x', 'offset_y', 'half_width_x', 'half_width_y')
    return {
        'numbers': numbers,
        'offset_map': _rows(offsets, found.offset_map),
        'breakaway_map': _rows(('x', 'y', 'breakaway', 'half_width'), found.breakaway_map),
        'noise': found.noise[0],
        'explained': found.fit,
    }


def _rows(columns: Sequence[str], table: Array) -> list[dict[str, float]]:
    return [dict(zip(columns, row, strict=True)) for row in table.tolist()]
