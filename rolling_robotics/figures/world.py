"""Paths of contact and bodies in the world, from above and from the side."""

from __future__ import annotations

from matplotlib.figure import Figure
from rolling_robotics.figures.style import END, end_marks, line_style, START, WIDTH
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
            path, style = arrays[name][:, [i, j]], line_style(k)
            axes.plot(*path.T, label=name.removesuffix('_position'), **style)
            axes.plot(*path[0], color=style['color'], **START)
            axes.plot(*path[-1], color=style['color'], **END)
        axes.set_title(title)
        axes.set_xlabel(f'${"xyz"[i]}$ [m]')
        axes.set_ylabel(f'${"xyz"[j]}$ [m]')
        axes.set_aspect('equal', adjustable='datalim')
        axes.margins(0.08)
    handles = [*grid[0].get_legend_handles_labels()[0], *end_marks()]
    figure.legend(handles=handles, loc='outside lower center', ncols=len(bodies) + 2)
    return figure
