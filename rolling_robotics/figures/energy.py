"""Energy and other invariants over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_robotics.figures.style import COLOURS, WIDTH
from rolling_robotics.result_arrays import Arrays, Values

TITLES = {'energy': 'Energy of the object', 'spin': 'Relative spin about the normal'}
CONSTANT = 1e-6  # relative change below which only the change is drawn


def energy_figure(arrays: Arrays) -> Figure | None:
    """Return energy and spin; of what stays constant, by how much it does not."""
    names = [n for n in TITLES if n in arrays]
    if not names:
        return None
    figure = Figure(figsize=(WIDTH, 0.4 + 1.8 * len(names)))
    column = figure.subplots(len(names), 1, sharex=True, squeeze=False).ravel()
    for axes, name in zip(column, names, strict=True):
        _draw(axes, arrays.time, arrays[name], TITLES[name], arrays.unit(name))
    column[-1].set_xlabel('time [s]')
    return figure


def _draw(axes: Axes, time: Values, values: Values, title: str, unit: str) -> None:
    constant = np.ptp(values) <= CONSTANT * np.abs(values).max()
    axes.plot(time, values - values[0] if constant else values, color=COLOURS[0])
    axes.set_title(f'{title}: change from {values[0]:.9g} {unit}' if constant else title)
    axes.set_ylabel(f'change [{unit}]' if constant else f'[{unit}]')
    axes.margins(x=0)
    low, high = axes.get_ylim()
    if constant and high - low < 4e-16:
        axes.set_ylim(-1e-15, 1e-15)
