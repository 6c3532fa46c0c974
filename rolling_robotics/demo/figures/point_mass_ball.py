"""Figure of the ball with masses inside: path, errors, masses on their rails and friction."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
import numpy as np
from rolling_robotics.demo.figures.panels import (
    COLOURS,
    draw_errors,
    draw_friction,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.figures.robots import driven_paths, friction_of
from rolling_robotics.demo.record import Record

LABEL = 'closed loop'


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    with saved_panels(path, 'aa;bc;bd') as axes:
        draw_paths(axes['a'], record.places(record.plan.states), driven_paths(record), unit='m')
        axes['a'].set(title='path of the centre, from above')
        draw_errors(axes['b'], record, 'm, rad, m/s, rad/s')
        draw_masses(axes['c'], record)
        draw_friction(axes['d'], record, friction_of(record))


def draw_masses(axis: Axes, record: Record) -> None:
    """Draw where the masses stand on their rails, as planned and under feedback."""
    layout, plan = record.scenario.system.state, record.plan
    where = layout.slice('theta')
    times, states = record.runs[LABEL].samples('robot/state')
    axis.plot(plan.times, plan.states[:, where], 'k--', linewidth=1.0)
    shades = np.linspace(1.0, 0.45, where.stop - where.start)
    for k, (shade, course) in enumerate(zip(shades, states[:, where].T, strict=True), 1):
        axis.plot(times, course, color=COLOURS[LABEL], alpha=shade, label=f'mass {k}')
    axis.set(
        xlabel='time [s]', ylabel='[rad]', title='masses on their rails: planned (dashed), driven'
    )
    axis.legend(loc='upper left')
