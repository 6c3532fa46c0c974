"""Figure of the ball with masses inside: path, errors, masses on their rails and friction."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
import numpy as np
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.demo.demo import Demo, ROBOT_WATCHED
from rolling_robotics.demo.figures.panels import (
    COLOURS,
    draw_errors,
    draw_friction,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.figures.robots import driven_paths, friction_of
from rolling_robotics.demo.positions import on_floor
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import state_goal

LABEL = 'closed loop'


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    with saved_panels(path, 'aa;aa;bc;bd') as axes:
        _draw_band(axes['a'], record)
        draw_paths(axes['a'], record.places(record.plan.states), driven_paths(record), unit='m')
        axes['a'].set(title='path of the centre, from above')
        draw_errors(axes['b'], record, 'm, rad, m/s, rad/s')
        _draw_masses(axes['c'], record)
        draw_friction(axes['d'], record, friction_of(record))


def _draw_band(axis: Axes, record: Record) -> None:
    """Draw the band about the given path that the plan may not leave."""
    limits = read_problem(record.scenario).state_limits.get('path_aside')
    if limits is None:
        return
    columns = [list(record.plan.state_names).index(n) for n in ('path_along', 'path_aside')]
    along = np.linspace(0.0, record.plan.states[-1, columns[0]], 200)
    edges = []
    for aside in limits:
        states = np.tile(record.plan.states[0], (len(along), 1))
        states[:, columns] = np.column_stack([along, np.full_like(along, aside)])
        edges.append(record.places(states))
    axis.fill(*np.vstack([edges[0], edges[1][::-1]]).T, color='0.85', label='band')


def _draw_masses(axis: Axes, record: Record) -> None:
    """Draw where the masses stand on their rails, as planned and under feedback."""
    layout, plan = record.scenario.system.state, record.plan
    where = layout.slice('theta')
    axis.plot(plan.times, plan.states[:, where], 'k--', linewidth=1.0)
    shades = np.linspace(1.0, 0.45, where.stop - where.start)
    times, states = record.samples('robot/state').get(LABEL, (plan.times[:1], plan.states[:1]))
    for k, (shade, course) in enumerate(zip(shades, states[:, where].T, strict=True), 1):
        axis.plot(times, course, color=COLOURS[LABEL], alpha=shade, label=f'mass {k}')
    axis.set(
        xlabel='time [s]', ylabel='[rad]', title='masses on their rails: planned (dashed), driven'
    )
    axis.legend(loc='upper left')


DEMO = Demo(
    experiment='point_mass_ball',
    request=state_goal,
    places=on_floor,
    position_off=(0.02, 0.01),
    rotation_off=(0.03, 0.03, 0.0),
    watched=ROBOT_WATCHED,
    pace=10.0,
    draw=draw,
)
