"""Style of all figures, and rows of panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
import numpy as np
from rolling_dynamics.robots.view import CURVES
from rolling_robotics.files import Values

COLOURS = CURVES  # the dashes help in grey
DASHES = ('-', '--', '-.', ':', (0, (5, 1)), (0, (3, 1, 1, 1)))
GREY = '#666666'
LIMIT = '#000000'
WIDTH = 7.2  # inches, two columns of a journal

STYLE: dict[Any, Any] = {
    'font.size': 8.5,
    'axes.titlesize': 9,
    'axes.titlelocation': 'left',
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.linewidth': 0.7,
    'grid.color': '#dddddd',
    'grid.linewidth': 0.5,
    'lines.linewidth': 1.3,
    'legend.frameon': False,
    'legend.fontsize': 8,
    'legend.handlelength': 1.7,
    'legend.handletextpad': 0.4,
    'legend.columnspacing': 0.9,
    'figure.constrained_layout.use': True,
    'figure.constrained_layout.w_pad': 0.08,
    'savefig.dpi': 200,
    'pdf.fonttype': 42,
    'svg.fonttype': 'none',
    'axes.formatter.useoffset': False,
    'axes.formatter.limits': (-4, 4),
    'axes.formatter.use_mathtext': True,
}

START: dict[str, Any] = {'marker': 'x', 'linestyle': 'none'}
END: dict[str, Any] = {'marker': 'o', 'markerfacecolor': 'none', 'linestyle': 'none'}


def line_style(k: int) -> dict[str, Any]:
    """Return colour and dashes of the k-th line."""
    return {'color': COLOURS[k % len(COLOURS)], 'linestyle': DASHES[k % len(DASHES)]}


def end_marks() -> list[Line2D]:
    """Return what a legend says of the marks at both ends of a path."""
    marks = (('start', START), ('end', END))
    return [Line2D([], [], color=GREY, label=name, **mark) for name, mark in marks]


def panel_grid(
    count: int, top: float, height: float, columns: int = 2, *, sharex: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return a figure of so many panels in columns, and their axes; heights are in inches."""
    rows = max(1, (count + 1) // 2)
    figure = Figure(figsize=(WIDTH, top + height * rows))
    grid = figure.subplots(rows, columns, squeeze=False, sharex=sharex).ravel()
    for axes in grid[count:]:
        axes.set_visible(False)
    for axes in grid[max(0, count - 2) : count]:
        axes.xaxis.set_tick_params(labelbottom=True)
    return figure, list(grid[:count])


def lines(axes: Axes, x: Values, columns: Values, labels: Sequence[str]) -> None:
    """Draw columns as lines in the colours and dashes of the style, with a legend."""
    columns = columns.reshape(len(x), -1)
    for k, label in enumerate(labels):
        axes.plot(x, columns[:, k], label=label, **line_style(k))
    if len(labels) > 1:
        legend(axes, len(labels))


def legend(axes: Axes, entries: int) -> None:
    """Put the legend above the axes, to the right of the title, where there is a curve."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc='lower right',
            bbox_to_anchor=(1.02, 0.985),
            ncols=min(entries, 5),
            borderaxespad=0.1,
        )


def limit_lines(axes: Axes, value: float) -> None:
    """Draw +- a limit, if it is in the neighbourhood of what is drawn."""
    if not np.isfinite(value):
        return
    for sign in (-1, 1):
        axes.axhline(sign * value, color=LIMIT, linewidth=0.8, linestyle=(0, (1, 2)))


def room(axes: Axes, least: float) -> None:
    """Give the vertical axis at least this height, so that rounding does not look like motion."""
    low, high = axes.get_ylim()
    if high - low < least:
        middle = (low + high) / 2
        axes.set_ylim(middle - least / 2, middle + least / 2)


@contextmanager
def saved_panels(path: Path, layout: str = 'ab;cd') -> Iterator[dict[str, Axes]]:
    """
    Yield the axes of a mosaic by letter, and write them to a PNG file.

    One legend stands for all of them, but for those that have their own.
    """
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use('Agg')
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplot_mosaic(layout, figsize=(11, 8.5), constrained_layout=True)
    try:
        yield axes
        handles, labels = [], []
        for axis in axes.values():
            axis.grid(visible=True, alpha=0.3)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                if axis.get_legend() is None and label not in labels:
                    handles.append(handle)
                    labels.append(label)
        figure.legend(handles, labels, loc='outside lower center', ncols=len(labels))
        figure.savefig(path, dpi=120)
    finally:
        plt.close(figure)
