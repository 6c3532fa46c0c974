"""Figure of the sphere with a pendulum: its course, errors, torque and friction."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Circle
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_robotics.demo.figures.panels import (
    draw_controls,
    draw_errors,
    draw_friction,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.figures.robots import driven_paths, friction_of
from rolling_robotics.demo.record import Record

WAYPOINT = '#2a9d4a'


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    with saved_panels(path, 'aaa;aaa;bcd') as axes:
        _draw_course(axes['a'], record)
        draw_paths(axes['a'], record.places(record.plan.states), driven_paths(record), unit='m')
        axes['a'].set(title='contact point on the floor')
        draw_errors(axes['b'], record, 'm, rad, m/s, rad/s')
        draw_controls(axes['c'], record, unit='N m', title='planned torque on the pendulum')
        draw_friction(axes['d'], record, friction_of(record))


def _draw_course(axis: Axes, record: Record) -> None:
    """Draw waypoints with their tolerance, and what the contact point must keep out of."""
    problem = read_gait_problem(record.scenario)
    for circle in problem.obstacles:
        axis.add_patch(Circle(circle.center, circle.radius, color='0.45'))
        kept = circle.radius + problem.keep_off
        axis.add_patch(Circle(circle.center, kept, fill=False, color='0.6', linestyle=':'))
    for k, waypoint in enumerate(problem.waypoints, 1):
        axis.plot(*waypoint.position, '+', color=WAYPOINT, markersize=9, zorder=5)
        axis.add_patch(Circle(waypoint.position, waypoint.tolerance, color=WAYPOINT, alpha=0.4))
        rest = f' (rest {waypoint.wait:g} s)' if waypoint.wait is not None else ''
        axis.annotate(
            f'{k}{rest}',
            waypoint.position,
            textcoords='offset points',
            xytext=(6, -12),
            fontsize=8,
        )
