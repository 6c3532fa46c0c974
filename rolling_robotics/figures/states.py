"""States and controls over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_robotics.figures.style import limit_lines, lines, panel_grid, room
from rolling_robotics.result_arrays import Arrays, Values
from transforms3d.euler import quat2euler

XYZ = ('$x$', '$y$', '$z$')


@dataclass(frozen=True)
class Panel:
    """One array over time: its title, the name of its axis, and the names of its columns."""

    array: str
    title: str
    axis: str
    labels: Sequence[str]
    floor: float  # least height of the axis, in its unit


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
