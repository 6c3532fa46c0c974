"""Contact force and its margins over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np
from rolling_robotics.figures.style import (
    COLOURS,
    END,
    GREY,
    legend,
    LIMIT,
    lines,
    room,
    START,
    WIDTH,
)
from rolling_robotics.result_arrays import Arrays, Values


def contact_figure(arrays: Arrays) -> Figure | None:
    """Return contact force, friction that is needed beside that there is, and the force cone."""
    if 'mu_needed' not in arrays:
        return None
    force, torque = arrays['f_contact'], arrays['tau_contact']
    spins = bool(np.abs(torque[:, 2]).max() > 0)
    rows = 3 if spins else 2
    figure = Figure(figsize=(WIDTH, 0.4 + 1.7 * rows))
    grid = figure.add_gridspec(rows, 2, width_ratios=(1.7, 1))
    first = figure.add_subplot(grid[0, 0])
    axes = [first, *(figure.add_subplot(grid[k, 0], sharex=first) for k in range(1, rows))]
    _force(axes[0], arrays, force)
    _friction(axes[1], arrays)
    if spins:
        _spin(axes[2], arrays)
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
    if {'mass', 'gravity_W'} <= set(parameters):  # a robot's weight is that of its parts
        gravity = float(np.linalg.norm(parameters['gravity_W']['values']))
        weight = arrays.parameter('mass') * gravity
        axes.axhline(weight, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label='weight')
    legend(axes, 4)
    axes.set_title('Contact force, in Ch')
    axes.set_ylabel('force [N]')
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    room(axes, 1e-6)


def _friction(axes: Axes, arrays: Arrays) -> None:
    mu = arrays.parameter('mu')
    needed = arrays['mu_needed']
    axes.plot(arrays.time, needed, color=COLOURS[0], label='needed')
    axes.axhline(mu, color=LIMIT, linewidth=0.9, linestyle='--', label=r'limit $\mu$')
    axes.fill_between(arrays.time, mu, needed, where=needed > mu, color=COLOURS[1], alpha=0.35)
    axes.set_title('Friction')
    axes.set_ylabel(r'$|f_t| / f_z$')
    top = 1.15 * max(mu, min(float(np.nanmax(needed, initial=0)), 3 * max(mu, 1e-3)))
    axes.set_ylim(0, top)
    legend(axes, 2)


def _spin(axes: Axes, arrays: Arrays) -> None:
    limit, needed = 1e3 * arrays.parameter('mu_spin'), 1e3 * arrays['mu_spin_needed']
    axes.plot(arrays.time, needed, color=COLOURS[0], label='needed')
    axes.axhline(limit, color=LIMIT, linewidth=0.9, linestyle='--', label=r'limit $\mu_s$')
    axes.set_title('Spin friction')
    axes.set_ylabel(r'$|\tau_z| / f_z$ [mm]')
    axes.set_ylim(0, 1.15 * max(limit, min(float(np.nanmax(needed, initial=0)), 3 * limit)))
    legend(axes, 2)


def _mark_events(axes: Axes, arrays: Arrays) -> None:
    for event in arrays.result['events']:
        if f'margin_{event["name"]}' not in arrays:
            continue  # a change of chart is no event of the contact
        axes.axvline(event['time'], color=COLOURS[1], linewidth=0.8)


def _cone(axes: Axes, arrays: Arrays, force: Values) -> None:
    """Draw the path of the tangential force over the normal force inside the friction circle."""
    mu = arrays.parameter('mu')
    with np.errstate(divide='ignore', invalid='ignore'):
        share = np.where(force[:, 2:] > 0, force[:, :2] / force[:, 2:], np.nan)
    largest = float(np.nanmax(np.abs(share), initial=0))
    axes.plot(share[:, 0], share[:, 1], color=COLOURS[0])
    axes.plot(*share[0], color=COLOURS[1], label='start', **START)
    axes.plot(*share[-1], color=COLOURS[2], label='end', **END)
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
