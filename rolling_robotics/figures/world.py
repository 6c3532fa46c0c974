"""Paths of contact and bodies in the world, from above and from the side."""

from __future__ import annotations

from matplotlib.figure import Figure
import numpy as np
from rolling_robotics.figures.style import COLOURS, DASHES, GREY, WIDTH
from rolling_robotics.result_arrays import Arrays

VIEWS = ((0, 1, 'From above, in W'), (0, 2, 'From the side, in W'))


def world_figure(arrays: Arrays) -> Figure | None:
    """Return the paths of the bodies that are drawn, in two views of the world frame."""
    bodies = [n for n in arrays.names() if n.endswith('_position')]
    if not bodies:
        return None
    figure = Figure(figsize=(WIDTH, 3.6))
    grid = figure.subplots(1, len(VIEWS))
    for axes, (i, j, title) in zip(grid, VIEWS, strict=True):
        for k, name in enumerate(bodies):
            path, colour = arrays[name], COLOURS[k % len(COLOURS)]
            axes.plot(
                path[:, i],
                path[:, j],
                color=colour,
                linestyle=DASHES[k % len(DASHES)],
                label=name.removesuffix('_position'),
            )
            axes.plot(*path[0, [i, j]], marker='x', color=colour, linestyle='none')
            axes.plot(
                *path[-1, [i, j]],
                marker='o',
                markerfacecolor='none',
                color=colour,
                linestyle='none',
            )
        axes.set_title(title)
        axes.set_xlabel(f'${"xyz"[i]}$ [m]')
        axes.set_ylabel(f'${"xyz"[j]}$ [m]')
        axes.set_aspect('equal', adjustable='datalim')
        axes.margins(0.08)
    for marker, face, label in (('x', GREY, 'start'), ('o', 'none', 'end')):
        grid[0].plot(
            [np.nan],
            [np.nan],
            marker=marker,
            markerfacecolor=face,
            color=GREY,
            linestyle='none',
            label=label,
        )
    figure.legend(
        *grid[0].get_legend_handles_labels(), loc='outside lower center', ncols=len(bodies) + 2
    )
    return figure
