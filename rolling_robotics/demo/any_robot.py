"""Demonstration of any robot from its scenario: the goal of its section ``plan``."""

from __future__ import annotations

from pathlib import Path

from rolling_dynamics.scenario_model import load_robot
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
from rolling_robotics.demo.request import state_goal
from rolling_robotics.experiment import Experiment

OFF = 0.02  # m, of the start from that of the plan, along x and y


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file: path of the centre, errors, planned controls."""
    units = {e.unit for e in record.scenario.system.control.entries}
    with saved_panels(path, 'ab;cc') as axes:
        planned = record.places(record.plan.states)
        draw_paths(axes['a'], planned, driven_paths(record), unit='m')
        axes['a'].set(title='path of the centre')
        draw_errors(axes['b'], record, 'units of the state')
        draw_controls(axes['c'], record, unit=', '.join(sorted(units)), title='planned control')


def demo(experiment: Experiment) -> Demo:
    """Return the demonstration of a robot; it starts beside the plan where it can be moved."""
    view = load_robot(experiment.scenario_file).view
    return Demo(
        experiment=experiment.scenario_file,
        request=state_goal,
        places=on_floor,
        position_off=(OFF, -OFF) if view.shift.any(axis=0).all() else (0.0, 0.0),
        rotation_off=(0.0, 0.0, 0.0),
        watched={'robot/state': 'joints'},
        pace=10.0,
        draw=draw,
    )
