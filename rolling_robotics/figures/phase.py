"""Phase portraits: coordinates against their rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_robotics.figures.style import END, end_marks, legend, line_style, panel_grid, START
from rolling_robotics.result_arrays import Arrays, Values
from transforms3d.quaternions import quat2mat

STILL = 1e-9  # a coordinate that moves less has no portrait


@dataclass(frozen=True)
class Portrait:
    """Some coordinates of a kind with their rates, shape (N, k) each."""

    title: str
    labels: tuple[str, ...]
    unit: str
    values: Values
    rates: Values


def phase_figure(arrays: Arrays) -> Figure | None:
    """Return a panel of each kind of coordinate that moves; None where there is none."""
    portraits = [q for q in _portraits(arrays) if _extent(q.values) > STILL]
    if not portraits:
        return None
    figure, grid = panel_grid(len(portraits), 0.5, 2.6, columns=min(2, len(portraits)))
    for axes, portrait in zip(grid, portraits, strict=True):
        _draw(axes, portrait, arrays)
    figure.legend(handles=end_marks(), loc='outside lower center', ncols=2)
    return figure


def _extent(values: Values) -> float:
    """Return by how much the coordinate moves that moves most; NaN at a pole does not count."""
    known = values[np.isfinite(values).reshape(len(values), -1).all(axis=1)]
    return float(np.ptp(known, axis=0).max()) if len(known) else 0.0


def _portraits(arrays: Arrays) -> Iterator[Portrait]:
    for name, (title, labels, rate) in COORDINATES.items():
        if name not in arrays:
            continue
        values = arrays[name].reshape(len(arrays.time), -1)
        shown = labels or tuple(str(k + 1) for k in range(values.shape[1]))
        unit = _unit(arrays, name)
        yield Portrait(title, shown, unit, values, rate(arrays, values))
    for name, title in TILTS.items():
        if name in arrays:
            tilt = _tilt(np.array([quat2mat(q)[:, 2] for q in arrays[name]]))
            labels = ('about $x$', 'about $y$')
            yield Portrait(title, labels, 'rad', tilt, smooth_rates(arrays, tilt))


def _unit(arrays: Arrays, name: str) -> str:
    """Return the unit; chart coordinates of a plane are metres."""
    if arrays.unit(name) != 'chart':
        return arrays.unit(name)
    return 'm' if arrays.result['scenario']['hand']['surface']['kind'] == 'plane' else 'chart'


def _tilt(z: Values) -> Values:
    """Return the angles of directions about x, then y, from the vertical, shape (N, 2) [rad]."""
    about_x = np.arctan2(-z[:, 1], np.hypot(z[:, 0], z[:, 2]))
    about_y = np.arctan2(z[:, 0], z[:, 2])
    return np.unwrap(np.column_stack([about_x, about_y]), axis=0)


def smooth_rates(arrays: Arrays, values: Values) -> Values:
    """Return derivatives over time, by a cubic spline on each piece without a jump."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (heavy)

    time = arrays.time
    rates = np.full_like(values, np.nan)
    for start, end in _pieces(arrays):
        if end - start > 2:
            rates[start:end] = CubicSpline(time[start:end], values[start:end])(time[start:end], 1)
    return rates


def _pieces(arrays: Arrays) -> list[tuple[int, int]]:
    """Return first and last-but-one number of the times between two events."""
    time = arrays.time
    cuts = {0, len(time)}
    cuts |= {int(np.searchsorted(time, event['time'])) for event in arrays.result['events']}
    ordered = sorted(cuts)
    return list(pairwise(ordered))


def _of_array(name: str) -> Callable[[Arrays, Values], Values]:
    return lambda arrays, _values: arrays[name].reshape(len(arrays.time), -1)


def _contact_rates(arrays: Arrays, values: Values) -> Values:
    if 'q_dot' not in arrays:  # of an object that may slide
        return smooth_rates(arrays, values)
    return arrays['q_dot'][:, 2:4]


TILTS = {  # attitude: title
    'q_WH': 'Tilt of the hand',
    'pendulum_attitude': 'Tilt of the pendulum',
}

# Array: title, labels of its columns (empty: numbers), its rates.
COORDINATES: dict[str, tuple[str, tuple[str, ...], Callable[[Arrays, Values], Values]]] = {
    'contact_h': ('Contact on the hand', ('$u_h$', '$v_h$'), _contact_rates),
    'p_WH': ('Hand, in W', ('$x$', '$y$', '$z$'), smooth_rates),
    'contact_s': ('Contact on the plane', ('$u_s$', '$v_s$'), smooth_rates),
    'contact': ('Contact on the floor', ('$x$', '$y$'), smooth_rates),
    'path': ('Place along the path', ('along', 'aside'), smooth_rates),
    'p': ('Place', ('$x$', '$y$'), smooth_rates),
    'p_WB': ('Place', ('$x$', '$y$', '$z$'), smooth_rates),
    'phi': ('Attitude', (r'$\phi$',), _of_array('phi_rate')),
    'theta': ('Masses on their rails', (), _of_array('theta_rate')),
}


def _draw(axes: Axes, portrait: Portrait, arrays: Arrays) -> None:
    cuts = [start for start, _ in _pieces(arrays)][1:]  # an impact, a change of chart
    for k, label in enumerate(portrait.labels[: portrait.values.shape[1]]):
        style, q, rate = line_style(k), portrait.values[:, k], portrait.rates[:, k]
        if _extent(q) <= STILL:
            continue
        x, y = np.insert(q, cuts, np.nan), np.insert(rate, cuts, np.nan)
        axes.plot(x, y, label=label, **style)
        known = np.flatnonzero(np.isfinite(rate))
        axes.plot(q[known[:1]], rate[known[:1]], color=style['color'], **START)
        axes.plot(q[known[-1:]], rate[known[-1:]], color=style['color'], **END)
    axes.set_title(portrait.title)
    axes.set_xlabel(f'coordinate [{portrait.unit}]')
    axes.set_ylabel(f'rate [{portrait.unit}/{arrays.unit("time")}]')
    if portrait.values.shape[1] > 1:
        legend(axes, 5)
