"""Figs. 9 and 10: the plan of a ball on a plate, and how a coarse one is followed."""

from __future__ import annotations

from matplotlib.figure import Figure
from rolling_robotics.figures.style import COLOURS, WIDTH
from rolling_robotics.reproduce.woodruff_lynch.ball_on_plate import (
    COARSE,
    followed,
    geometric_plans,
    length,
    loop_plan,
    loop_problem,
    places,
)


def plan_beside_geometric_plans() -> Figure:
    """Return Fig. 9 (c), (d): the contact point on the plate, the state, and the controls."""
    plan = loop_plan()
    points = places(plan)
    figure = Figure(figsize=(WIDTH, 5.2))
    grid = figure.add_gridspec(2, 2)
    axes = figure.add_subplot(grid[0, :])
    for name, dash, path in zip(
        geometric_plans(), ('--', ':'), geometric_plans().values(), strict=True
    ):
        label = f'{name}, {path.length:.2f} m'
        axes.plot(*path.corners.T, dash, color='black', linewidth=1.0, label=label)
    axes.plot(*points.T, color=COLOURS[0], label=f'optimised, {length(points):.2f} m')
    axes.plot(*points[0], 'x', color='black', markersize=7)
    axes.plot(0.0, -0.033, 'o', color='black', fillstyle='none', markersize=7)
    axes.set(xlabel='$u_h$ [m]', ylabel='$v_h$ [m]', title='contact point on the plate, (c)')
    axes.set_aspect('equal', adjustable='datalim')
    axes.legend(loc='center left', bbox_to_anchor=(1.0, 0.5))
    over_time, controls = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for k, name in enumerate(('$u_h$', '$v_h$')):
        over_time.plot(plan.times, points[:, k], color=COLOURS[k], label=name)
    over_time.set(xlabel='time [s]', ylabel='[m]', title='contact point over time, (d)')
    over_time.legend()
    names = plan.control_names
    for k, name in enumerate(loop_problem().active_controls):
        column = plan.controls[:, names.index(name)]
        controls.plot(plan.times, column, color=COLOURS[k], label=name)
    controls.set(xlabel='time [s]', ylabel=r'[rad/s$^2$]', title='controls')
    controls.legend()
    return figure


def coarse_plan_followed() -> Figure:
    """Return Fig. 10: distance from a coarse plan, open and closed loop."""
    seen = followed()
    figure = Figure(figsize=(WIDTH, 2.8))
    axes = figure.subplots()
    axes.semilogy(seen.times, seen.open_loop, color=COLOURS[1], label='open loop')
    axes.semilogy(seen.times, seen.closed_loop, color=COLOURS[0], label='closed loop')
    axes.set(
        xlabel='time [s]',
        ylabel='distance from the plan',
        ylim=(1e-4, None),
        title=f'a plan of {COARSE} segments, simulated finely',
    )
    axes.legend(loc='lower right')
    return figure
