"""Figure of the sphere with a pendulum: its course, errors, torque and friction."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.patches import Circle
from rolling_dynamics.scenario import Scenario
from rolling_planner.gait_planner.scenario import read_gait_problem
from rolling_robotics.demo.demo import Demo, ROBOT_WATCHED
from rolling_robotics.demo.figures.panels import (
    draw_controls,
    draw_errors,
    draw_friction,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.figures.robots import driven_paths, friction_of
from rolling_robotics.demo.positions import on_floor
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import PlanRequest

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


def manoeuvre(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere with a pendulum: the manoeuvre of its scenario."""
    problem = read_gait_problem(scenario)
    x, y = problem.waypoints[-1].position
    rests = sum(w.wait is not None for w in problem.waypoints[:-1])
    return PlanRequest(
        text=f'rest at ({x:g}, {y:g}) m, by way of {len(problem.waypoints) - 1} waypoints '
        f'({rests} with a rest) between {len(problem.obstacles)} obstacles'
    )


DEMO = Demo(
    experiment='pendulum_sphere',
    request=manoeuvre,
    places=on_floor,
    position_off=(0.02, -0.02),
    rotation_off=(0.0, 0.0, 0.0),
    plant_file='pendulum_course_plant.yaml',
    plant_text='masses 10 % off those of the plan',
    watched=ROBOT_WATCHED,
    pace=10.0,
    draw=draw,
)
