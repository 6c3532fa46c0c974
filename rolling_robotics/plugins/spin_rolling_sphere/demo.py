"""Figure of the sphere that rolls and spins: contact on plane and sphere, errors and inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check
from rolling_planner.spin_rolling import SpinRollingProblem
from rolling_planner.spin_rolling.problem import ContactGoal
from rolling_planner.spin_rolling.scenario import read_spin_rolling_problem
from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.figures.panels import (
    draw_controls,
    draw_errors,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.figures.robots import driven_paths
from rolling_robotics.demo.positions import on_floor
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import listed, PlanRequest
from transforms3d.quaternions import quat2mat

UNIT = 1e3  # from m to mm
EDGE: dict[str, Any] = {
    'fill': False,
    'color': '0.6',
    'linestyle': ':',
}  # of what the contact may not leave


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    with saved_panels(path) as axes:
        _draw_plane(axes['a'], record)
        _draw_sphere(axes['b'], record)
        draw_errors(axes['c'], record, 'm, rad')
        draw_controls(axes['d'], record, unit='rad/s', title='planned angular velocity')


def _draw_plane(axis: Axes, record: Record) -> None:
    """Draw the contact point on the plane, and the rectangle that it may not leave."""
    region = read_spin_rolling_problem(record.scenario).region
    corners = UNIT * np.column_stack([region.u_bounds, region.v_bounds])
    edge = corners if np.all(np.isfinite(corners)) else None
    if edge is not None:
        width, height = edge[1] - edge[0]
        axis.add_patch(Rectangle(tuple(edge[0]), width, height, **EDGE))
    driven = {label: UNIT * points for label, points in driven_paths(record).items()}
    planned = UNIT * record.places(record.plan.states)
    draw_paths(axis, planned, driven, unit='mm', around=edge)
    axis.set(xlabel='$u_s$ [mm]', ylabel='$v_s$ [mm]', title='contact point on the plane')


def _draw_sphere(axis: Axes, record: Record) -> None:
    """Draw the contact point on the sphere as seen along the axis of its region."""
    problem = read_spin_rolling_problem(record.scenario)
    where = record.scenario.system.state.slice('q_SO')
    cap = problem.region.half_angle
    axis.add_patch(Circle((0, 0), cap, **EDGE))
    driven = {
        label: _map(states[:, where], problem)
        for label, (_, states) in record.samples('robot/state').items()
    }
    planned = _map(record.plan.states[:, where], problem)
    draw_paths(axis, planned, driven, unit='rad', around=np.array([[-cap, -cap], [cap, cap]]))
    axis.set(
        xlabel='angle from the middle of the fingertip [rad]',
        ylabel='[rad]',
        title='contact point on the sphere',
    )


def _map(attitudes: Array, problem: SpinRollingProblem) -> Array:
    """
    Return the contact on the sphere in a flat map: true angles from the region's axis.

    Parameters
    ----------
    attitudes
        q_SO wxyz, shape (k, 4).
    problem
        With the region.

    Returns
    -------
    NDArray
        Shape (k, 2) [rad].

    """
    normals = np.array([-quat2mat(q)[2] for q in attitudes]).reshape(-1, 3)
    axis = np.array(problem.region.axis) / np.linalg.norm(problem.region.axis)
    aside = np.eye(3)[int(np.argmin(np.abs(axis)))]
    e1 = np.cross(aside, axis) / np.linalg.norm(np.cross(aside, axis))
    across = np.column_stack([normals @ e1, normals @ np.cross(axis, e1)])
    size = np.linalg.norm(across, axis=1)
    angle = np.arctan2(size, normals @ axis)
    return np.array(across * (angle / np.maximum(size, 1e-12))[:, None])


def contact_goal(scenario: Scenario) -> PlanRequest:
    """Return the goal of a sphere that rolls and spins: contact coordinates, at its own pace."""
    given = scenario.raw.get('plan', {}).get('goal', {})
    goal = check(ContactGoal, given, 'plan.goal').model_dump(exclude_unset=True)
    return PlanRequest(text=listed(goal), goal=goal)


DEMO = Demo(
    experiment='spin_rolling',
    request=contact_goal,
    places=on_floor,
    position_off=(0.001, -0.001),
    rotation_off=(0.05, -0.1, 0.1),
    watched={'robot/state': 'joints'},
    pace=10.0,
    draw=draw,
)
