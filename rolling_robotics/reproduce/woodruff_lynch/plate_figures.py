"""Figs. 5 and 6: the ball on the spinning plate, with the closed solution laid over."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_robotics.figures.style import COLOURS, GREY, WIDTH
from rolling_robotics.reproduce.woodruff_lynch.other_engines import (
    bullet_path,
    BULLET_STEP,
    missing,
    mujoco_path,
)
from rolling_robotics.reproduce.woodruff_lynch.spinning_plate import (
    circle,
    COMPARED,
    drift_velocity,
    path,
)

COUNT = 2001


def paths_on_the_plate() -> Figure:
    """Return Fig. 5: the contact point in the world, on the horizontal and on the tilted plate."""
    figure = Figure(figsize=(WIDTH, 3.1))
    drift = drift_velocity()
    for axes, (name, title, v) in zip(
        figure.subplots(1, 2, width_ratios=(1, 2)),
        (
            ('spinning_plate', '(a) horizontal', 0.0),
            ('tilted_spinning_plate', '(b) tilted by 0.01 rad', drift),
        ),
        strict=True,
    ):
        times, points = path(name, COMPARED, COUNT)
        axes.plot(points[:, 0], points[:, 1], color=COLOURS[0], linewidth=2.5, label='simulated')
        closed = circle(times, v)
        axes.plot(*closed.T, ':', color='black', linewidth=1.2, label='closed solution')
        axes.plot(0, 0, 'x', color='black')
        error = np.linalg.norm(points[:, :2] - closed * [1, math.cos(0.01 if v else 0)], axis=1)
        said = f', drift {v:.3g} m/s' if v else ''
        _frame(axes, f'{title}{said}\napart by {error.max():.0e} m at most')
    axes.legend(loc='lower right')
    return figure


def other_engines() -> Figure:
    """Return Fig. 6: the circle of this suite beside those of other engines in 10 s."""
    _, own = path('spinning_plate', COMPARED, COUNT)
    found: dict[str, Array | None] = {
        'Bullet, 1 ms': bullet_path(COMPARED),
        'Bullet, its own 1/60 s': bullet_path(COMPARED, BULLET_STEP),
        'MuJoCo, default': mujoco_path(COMPARED, 'default'),
        'MuJoCo, usual': mujoco_path(COMPARED, 'usual'),
        'MuJoCo, tuned': mujoco_path(COMPARED, 'friction reference tuned'),
    }
    figure = Figure(figsize=(WIDTH, 3.4))
    axes, radius = figure.subplots(1, 2)
    for k, (name, points) in enumerate({'this suite': own, **found}.items()):
        if points is None:
            continue
        style: dict[str, Any] = {
            'color': COLOURS[k % len(COLOURS)],
            'linewidth': 1.0 if k else 2.2,
            'label': name,
        }
        axes.plot(points[:, 0], points[:, 1], **style)
        times = np.linspace(0.0, COMPARED, len(points))
        radius.plot(times, 100 * (np.hypot(points[:, 0] - 0.1, points[:, 1]) / 0.1 - 1), **style)
    if missing():
        radius.set_title(f'not installed: {", ".join(missing())}', color=GREY)
    _frame(axes, 'contact point in 10 s')
    radius.set(xlabel='time [s]', ylabel='divergence of the radius [%]')
    radius.axhline(34.0, color=GREY, linewidth=0.8, linestyle='--')
    radius.text(0.1, 34.5, 'Bullet as printed, at 10 s', color=GREY, fontsize=7)
    radius.legend(loc='upper left', bbox_to_anchor=(0.0, 0.75))
    return figure


def _frame(axes: Axes, title: str) -> None:
    axes.set(xlabel='x [m]', ylabel='y [m]', title=title)
    axes.set_aspect('equal', adjustable='datalim')
