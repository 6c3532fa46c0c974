"""Figures of paths on surfaces and in phase space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
import math
from typing import Any, cast, TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.surfaces.surface import Surface, surface_points
from rolling_robotics.figures.states import (
    COLOURS,
    END,
    end_marks,
    GREY,
    legend,
    line_style,
    panel_grid,
    START,
    WIDTH,
)
from rolling_robotics.files import Arrays, Values
from rolling_robotics.scene.parts import drawn_box
from transforms3d.quaternions import quat2mat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem
    from rolling_dynamics.hybrid_contact import HybridContactSystem

MESH = 49  # lines of a surface along each coordinate


def paths_figure(arrays: Arrays) -> Figure | None:
    """Return the path over the hand, in the plane or in space, and the path over the object."""
    if 'p_HC' not in arrays or 'p_OC' not in arrays:
        return None
    system = cast(
        'ContactSystem | HybridContactSystem', load_scenario(arrays.result['scenario']).system
    )
    figure = Figure(figsize=(WIDTH, 3.7), layout=ConstrainedLayoutEngine(wspace=0.12))
    if system.hand_surface.name == 'plane':
        left = figure.add_subplot(1, 2, 1)
        _plane(left, arrays)
    else:
        left = figure.add_subplot(1, 2, 1, projection='3d')
        box = drawn_box(system.hand_surface, arrays['contact_h'], _edges(arrays))
        left.view_init(elev=35, azim=-60)
        _space(left, system.hand_surface, arrays['p_HC'], arrays['contact_h'], box)
    left.set_title('Path over the hand, in H')
    right = figure.add_subplot(1, 2, 2, projection='3d')
    points, contact_o = arrays['p_OC'], arrays['contact_o']
    middle = points.mean(axis=0)
    right.view_init(elev=18, azim=math.degrees(math.atan2(middle[1], middle[0])) + 15)
    box = drawn_box(system.object_surface, contact_o, None)
    _space(right, system.object_surface, points, contact_o, box)
    right.set_title('Path over the object, in O')
    entries = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    figure.legend(entries.values(), entries.keys(), loc='outside lower center', ncols=len(entries))
    return figure


def _edges(arrays: Arrays) -> Values:
    return np.array(arrays.result['parameters']['hand_edges']['values'], dtype=float)


def _ends(axes: Axes, *path: Values) -> None:
    size: dict[str, Any] = {'markersize': 7, 'markeredgewidth': 1.8, 'zorder': 10}
    axes.plot(*(c[:1] for c in path), color=COLOURS[1], label='start', **START, **size)
    axes.plot(*(c[-1:] for c in path), color=COLOURS[2], label='end', **END, **size)


def _plane(axes: Axes, arrays: Arrays) -> None:
    """Draw the path on a plane in metres, with goal and edges of the plate."""
    u, v = arrays['contact_h'].T
    axes.plot(u, v, color=COLOURS[0], label='contact')
    _ends(axes, u, v)
    goal = arrays.result.get('goal', {}).get('contact_h')
    if goal is not None:
        axes.plot(*goal['values'], 'k+', markersize=10, label='goal')
    axes.set_aspect('equal', adjustable='datalim')
    axes.set_xlabel('$u_h$ [m]')
    axes.set_ylabel('$v_h$ [m]')
    axes.margins(0.12)
    edges, size = _edges(arrays), max(np.ptp(u), np.ptp(v), 1e-9)
    if np.abs(edges).max() < 8 * max(size, np.abs(u).max(), np.abs(v).max()):
        corners = edges[[0, 1, 1, 0, 0]], edges[[2, 2, 3, 3, 2]]
        axes.plot(*corners, color=GREY, linewidth=1, label='edge')


def _space(axes: Axes3D, surface: Surface, points: Values, path: Values, box: Values) -> None:
    """Draw a surface in space with a path on it."""
    xyz = surface_points(surface, box, MESH)
    axes.plot_surface(
        *np.moveaxis(xyz, 2, 0),
        color='#e9e4d8',
        alpha=0.45,
        linewidth=0,
        rstride=2,
        cstride=2,
        antialiased=True,
        shade=True,
    )
    axes.plot_wireframe(
        *np.moveaxis(xyz, 2, 0), color='#8a8a8a', linewidth=0.3, rstride=6, cstride=6, alpha=0.6
    )
    hidden = _hidden(axes, surface, path)
    axes.plot(*points.T, color=COLOURS[0], linewidth=0.8, alpha=0.45, zorder=8)
    front = np.where(hidden[:, None], np.nan, points)
    axes.plot(*front.T, color=COLOURS[0], linewidth=1.7, zorder=9, label='contact')
    _ends(axes, *points.T)
    size = np.ptp(np.vstack([xyz.reshape(-1, 3), points]), axis=0)
    size = np.maximum(size, 0.15 * size.max())
    axes.set_box_aspect(size, zoom=0.82)
    axes.set_proj_type('ortho')
    for axis, name, length in zip(
        (axes.xaxis, axes.yaxis, axes.zaxis), 'xyz', size / size.max(), strict=True
    ):
        axis.set_label_text(f'${name}$ [m]')
        axis.set_major_locator(MaxNLocator(nbins=max(2, round(4 * length))))
        axis.set_tick_params(labelsize=7, pad=0)
        axis.labelpad = 3


def _hidden(axes: Axes3D, surface: Surface, path: Values) -> NDArray[np.bool_]:
    """Return where the surface faces away from the viewer."""
    elevation, azimuth = math.radians(axes.elev), math.radians(axes.azim)
    to_viewer = np.array(
        [
            math.cos(elevation) * math.cos(azimuth),
            math.cos(elevation) * math.sin(azimuth),
            math.sin(elevation),
        ]
    )
    frames = surface.numeric().map(len(path))(path.T, surface.parameter_values)[1]
    normals = np.array(frames).T.reshape(-1, 3, 3)[:, 2]
    away: NDArray[np.bool_] = normals @ to_viewer < 0
    return away


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
    """Return the largest range of a coordinate; NaN at a pole does not count."""
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
