"""Figure of the ball on a plate: path on the plate, errors, controls and normal force."""

from __future__ import annotations

from pathlib import Path

from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.figures.panels import (
    draw_controls,
    draw_errors,
    draw_normal_force,
    draw_paths,
    saved_panels,
)
from rolling_robotics.demo.positions import on_plate
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import state_goal


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    driven = {
        label: 1e3 * coordinates[:, 2:4]
        for label, (_, coordinates) in record.samples('contact/coordinates').items()
    }
    with saved_panels(path) as axes:
        planned = 1e3 * record.places(record.plan.states)
        draw_paths(axes['a'], planned, driven, unit='mm')
        axes['a'].set(xlabel='$u_h$ [mm]', ylabel='$v_h$ [mm]', title='contact point on the plate')
        draw_errors(axes['b'], record, 'm, rad, m/s, rad/s')
        draw_controls(
            axes['c'],
            record,
            unit='rad/s$^2$], [m/s$^2$',
            title='planned control of the plate',
        )
        draw_normal_force(axes['d'], record)


DEMO = Demo(
    experiment='ball_on_plate',
    request=state_goal,
    places=on_plate,
    position_off=(0.003, 0.0),
    rotation_off=(0.05, 0.0, 0.0),
    watched={'contact/coordinates': 'joints', 'contact/wrench': 'force'},
    draw=draw,
)
