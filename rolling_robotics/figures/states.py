"""Figures of states, energy, and of contact forces over time, and the style of all figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
import numpy as np
from rolling_dynamics.robots.view import CURVES
from rolling_robotics.files import Arrays, Values
from transforms3d.euler import quat2euler

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
    """Return the legend of the marks at both ends of a path."""
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
    """Draw +- a limit, if it is near the curves."""
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

    All of them have a common legend, except those with their own.
    """
    figure = Figure(figsize=(11, 8.5), layout='constrained')
    axes = figure.subplot_mosaic(layout)
    yield axes
    entries: dict[str, Any] = {}
    for axis in axes.values():
        axis.grid(visible=True, alpha=0.3)
        if axis.get_legend() is None:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
    if entries:
        handles, labels = list(entries.values()), list(entries)
        figure.legend(handles, labels, loc='outside lower center', ncols=len(entries))
    figure.savefig(path, dpi=120)


XYZ = ('$x$', '$y$', '$z$')


@dataclass(frozen=True)
class Panel:
    """One array over time: its title, the name of its axis, and the names of its columns."""

    array: str
    title: str
    axis: str
    labels: Sequence[str]
    floor: float  # minimum height of the axis, in its unit


PANELS = {
    'contact': (
        Panel('p_WH', 'Hand position, in W', 'position [m]', XYZ, 1e-6),
        Panel('q_WH', 'Hand attitude', 'angle [deg]', ('roll', 'pitch', 'yaw'), 1e-3),
        Panel('v_WH_H', 'Hand velocity, in H', 'velocity [m/s]', XYZ, 1e-6),
        Panel('w_WH_H', 'Hand rate, in H', 'rate [rad/s]', XYZ, 1e-6),
        Panel('contact_h', 'Contact on the hand', 'coordinate', ('$u_h$', '$v_h$'), 1e-6),
        Panel(
            'contact_coordinates',
            'Contact on the object',
            'angle [rad]',
            ('$u_o$', '$v_o$', r'$\psi$'),
            1e-6,
        ),
        Panel('w_HO_Ch', 'Relative rate, in Ch', 'rate [rad/s]', XYZ, 1e-6),
        Panel('v_WO_O', 'Object velocity, in O', 'velocity [m/s]', XYZ, 1e-6),
        Panel('alpha_WH_H', 'Control, angular, in H', r'$\alpha$ [rad/s$^2$]', XYZ, 1e-6),
        Panel('a_WH_H', 'Control, linear, in H', '$a$ [m/s$^2$]', XYZ, 1e-6),
    )
}


def states_figure(arrays: Arrays) -> Figure:
    """Return states and controls over time; panels of what stays zero are left out."""
    panels = PANELS.get(arrays.result['system']) or _plain_panels(arrays)
    shown = [p for p in panels if _moves(_values(arrays, p))]
    figure, grid = panel_grid(len(shown), 0.4, 1.55, sharex=True)
    for axes, panel in zip(grid, shown, strict=True):
        _draw(axes, arrays, panel)
    figure.supxlabel('time [s]', fontsize=8.5)
    return figure


def _moves(values: Values) -> bool:
    return bool(values.size and np.nanmax(np.abs(values), initial=0) > 1e-12)


def _values(arrays: Arrays, panel: Panel) -> Values:
    if panel.array == 'contact_coordinates':
        return np.column_stack([arrays['contact_o'], arrays['psi']])
    values = arrays[panel.array]
    if panel.array == 'q_WH':
        angles = np.array([quat2euler(q) for q in values])
        return np.degrees(np.unwrap(angles, axis=0))
    return values


def _draw(axes: Axes, arrays: Arrays, panel: Panel) -> None:
    values = _values(arrays, panel)
    lines(axes, arrays.time, values, panel.labels)
    axes.set_title(panel.title)
    axes.set_ylabel(_axis(arrays, panel))
    axes.margins(x=0)
    room(axes, panel.floor)
    _limits(axes, arrays, panel, float(np.nanmax(np.abs(values))))


def _axis(arrays: Arrays, panel: Panel) -> str:
    if panel.array != 'contact_h':
        return panel.axis
    kind = arrays.result['scenario']['hand']['surface']['kind']
    return 'coordinate [m]' if kind == 'plane' else 'chart coordinate'


def _limits(axes: Axes, arrays: Arrays, panel: Panel, largest: float) -> None:
    """Draw the limits of a control, if the control comes near them."""
    limits = arrays.result.get('control_limits', {})
    values = [limits[c] for c in _names(arrays, panel.array) if limits.get(c) is not None]
    if values and max(values) < 3 * largest:
        limit_lines(axes, max(values))


def _names(arrays: Arrays, name: str) -> list[str]:
    return arrays.components(name) if name in arrays else []


def _plain_panels(arrays: Arrays) -> tuple[Panel, ...]:
    """Return one panel for each entry of state and control of another system."""
    elsewhere = ('margin_', 'f_contact', 'tau_contact')  # in the other figures, as are poses
    names = [
        n
        for n in arrays.names()
        if arrays.components(n)
        and not n.startswith(elsewhere)
        and not n.endswith(('_position', '_attitude'))
    ]
    return tuple(
        Panel(
            n,
            n,
            f'[{arrays.unit(n)}]' if arrays.unit(n) else '',
            [c.removeprefix(f'{n}_') for c in arrays.components(n)],
            1e-9,
        )
        for n in names
    )


TITLES = {'energy': 'Energy of the object', 'spin': 'Relative spin about the normal'}
CONSTANT = 1e-6  # relative change below which only the change is drawn


def energy_figure(arrays: Arrays) -> Figure | None:
    """Return energy and spin; of what stays constant, its small change."""
    names = [n for n in TITLES if n in arrays]
    if not names:
        return None
    figure = Figure(figsize=(WIDTH, 0.4 + 1.8 * len(names)))
    column = figure.subplots(len(names), 1, sharex=True, squeeze=False).ravel()
    for axes, name in zip(column, names, strict=True):
        _draw_energy(axes, arrays.time, arrays[name], TITLES[name], arrays.unit(name))
    column[-1].set_xlabel('time [s]')
    return figure


def _draw_energy(axes: Axes, time: Values, values: Values, title: str, unit: str) -> None:
    constant = np.ptp(values) <= CONSTANT * np.abs(values).max()
    axes.plot(time, values - values[0] if constant else values, color=COLOURS[0])
    axes.set_title(f'{title}: change from {values[0]:.9g} {unit}' if constant else title)
    axes.set_ylabel(f'change [{unit}]' if constant else f'[{unit}]')
    axes.margins(x=0)
    low, high = axes.get_ylim()
    if constant and high - low < 4e-16:
        axes.set_ylim(-1e-15, 1e-15)


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


def contact_figure(arrays: Arrays) -> Figure | None:
    """Return contact force, required and available friction, and the force cone."""
    if 'mu_needed' not in arrays or 'mu' not in arrays.result['parameters']:
        return None
    force, torque = arrays['f_contact'], arrays['tau_contact']
    spins = bool(np.abs(torque[:, 2]).max() > 0)
    rows = 3 if spins else 2
    figure = Figure(figsize=(WIDTH, 0.4 + 1.7 * rows))
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.7, 1))
    first = figure.add_subplot(grid[0, 0])
    axes = [first, *(figure.add_subplot(grid[k, 0], sharex=first) for k in range(1, rows))]
    _force(axes[0], arrays, force)
    mu, needed = arrays.parameter('mu'), arrays['mu_needed']
    _friction(axes[1], arrays.time, needed, mu, ('Friction', r'$|f_t| / f_z$', r'limit $\mu$'))
    axes[1].fill_between(arrays.time, mu, needed, needed > mu, color=COLOURS[1], alpha=0.35)
    if spins:
        limit, needed = 1e3 * arrays.parameter('mu_spin'), 1e3 * arrays['mu_spin_needed']
        texts = ('Spin friction', r'$|\tau_z| / f_z$ [mm]', r'limit $\mu_s$')
        _friction(axes[2], arrays.time, needed, limit, texts)
    for a in axes:
        a.margins(x=0)
        _mark_events(a, arrays)
        a.label_outer()
    axes[-1].set_xlabel('time [s]')
    _cone(figure.add_subplot(grid[:2, 1]), arrays, force)
    return figure


def _force(axes: Axes, arrays: Arrays, force: Values) -> None:
    lines(axes, arrays.time, force, ('$f_x$', '$f_y$', '$f_z$'))
    parameters = arrays.result['parameters']
    if {'mass', 'gravity_W'} <= set(parameters):  # a robot's weight is its parts'
        gravity = float(np.linalg.norm(parameters['gravity_W']['values']))
        weight = arrays.parameter('mass') * gravity
        axes.axhline(weight, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label='weight')
    legend(axes, 4)
    axes.set_title('Contact force, in Ch')
    axes.set_ylabel('force [N]')
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    room(axes, 1e-6)


def _friction(
    axes: Axes, time: Values, needed: Values, limit: float, texts: tuple[str, str, str]
) -> None:
    """Draw friction that is needed and its limit; the texts are title, axis and limit's name."""
    title, axis, name = texts
    axes.plot(time, needed, color=COLOURS[0], label='needed')
    axes.axhline(limit, color=LIMIT, linewidth=0.9, linestyle='--', label=name)
    axes.set_title(title)
    axes.set_ylabel(axis)
    top = min(float(np.nanmax(needed, initial=0)), 3 * max(limit, 1e-3))
    axes.set_ylim(0, 1.15 * max(limit, top))
    legend(axes, 2)


def _mark_events(axes: Axes, arrays: Arrays) -> None:
    for event in arrays.result['events']:
        if f'margin_{event["name"]}' not in arrays:
            continue  # a change of chart is not an event of the contact
        axes.axvline(event['time'], color=COLOURS[1], linewidth=0.8)


def _cone(axes: Axes, arrays: Arrays, force: Values) -> None:
    """Draw the path of the tangential force over the normal force inside the friction circle."""
    mu = arrays.parameter('mu')
    with np.errstate(divide='ignore', invalid='ignore'):
        ratio = np.where(force[:, 2:] > 0, force[:, :2] / force[:, 2:], np.nan)
    largest = float(np.nanmax(np.abs(ratio), initial=0))
    axes.plot(ratio[:, 0], ratio[:, 1], color=COLOURS[0])
    axes.plot(*ratio[0], color=COLOURS[1], label='start', **START)
    axes.plot(*ratio[-1], color=COLOURS[2], label='end', **END)
    angle = np.linspace(0, 2 * np.pi, 200)
    if mu < 4 * largest:
        circle = mu * np.array([np.cos(angle), np.sin(angle)])
        axes.plot(*circle, '--', color=LIMIT, linewidth=0.9, label=r'limit $\mu$')
    reach = 1.1 * max(min(largest, 2 * mu), mu if mu < 4 * largest else 0, 1e-6)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect('equal')
    axes.set_title('Friction cone from above', pad=18)
    axes.set_xlabel('$f_x / f_z$')
    axes.set_ylabel('$f_y / f_z$')
    legend(axes, 3)
