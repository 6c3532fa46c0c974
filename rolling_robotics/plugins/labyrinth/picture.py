"""The board of a labyrinth as it is drawn in figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_robotics.figures.style import saved_panels

Array = NDArray[np.float64]
WALL, HOLE, DRIVEN, PLAN = '#7a4b1e', '#444444', '#1f6fb4', '#c1440e'


def draw_board(axes: Any, file: LabyrinthFile) -> None:  # noqa: ANN401  of matplotlib
    """Draw walls, holes and the path in millimetres."""
    from matplotlib.patches import Circle  # noqa: PLC0415  only where it is drawn

    for hole in file.board.holes:
        axes.add_patch(Circle(1e3 * hole, 1e3 * file.board.hole_radius, color=HOLE))
    for x1, y1, x2, y2 in 1e3 * file.board.walls:
        axes.plot([x1, x2], [y1, y2], color=WALL, linewidth=2.5)
    axes.plot(*(1e3 * file.board.path.T), ':', color='gray', linewidth=1, label='path as drawn')
    axes.set(xlabel='$x$ [mm]', ylabel='$y$ [mm]')
    axes.set_aspect('equal')


def draw_runs(
    file: LabyrinthFile, plan: Array, driven: Sequence[Array], path: Path, label: str
) -> None:
    """
    Write a figure, a PNG file: board, plan and driven paths.

    Parameters
    ----------
    file
        The labyrinth.
    plan, driven
        Places (k, 2) [m] of the plan, and of the ball in each run.
    path
        Of the figure.
    label
        What was driven.

    """
    with saved_panels(path, 'a') as axes:
        a = axes['a']
        draw_board(a, file)
        for k, ball in enumerate(driven):
            named = label if k == 0 else None
            a.plot(*(1e3 * ball.T), color=DRIVEN, linewidth=0.6, label=named)
        a.plot(*(1e3 * plan.T), color=PLAN, linewidth=1, label='plan')
