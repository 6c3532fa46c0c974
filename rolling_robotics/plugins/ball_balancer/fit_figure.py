"""How well what was identified explains a log, and the maps of the plate that it found."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
import numpy as np
from rolling_controller.ball_balancer.identification.identify import Identified
from rolling_dynamics.arrays import Array
from rolling_robotics.figures.style import saved_panels
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
