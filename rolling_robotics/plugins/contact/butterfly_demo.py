"""Figure of the butterfly: place on the rim, errors, controls and normal force."""

from __future__ import annotations

from pathlib import Path

from rolling_robotics.demo.demo import Demo
from rolling_robotics.demo.figures.panels import (
    COLOURS,
    draw_controls,
    draw_errors,
    draw_normal_force,
    saved_panels,
)
from rolling_robotics.demo.positions import on_plate
from rolling_robotics.demo.record import Record
from rolling_robotics.demo.request import state_goal


def draw(record: Record, path: Path) -> None:
    """Write the figure, a PNG file."""
    with saved_panels(path) as axes:
        planned = 1e3 * record.places(record.plan.states)[:, 0]
        axes['a'].plot(record.plan.times, planned, 'k--', label='planned', zorder=3)
        for label, (times, coordinates) in record.samples('contact/coordinates').items():
            axes['a'].plot(times, 1e3 * coordinates[:, 2], color=COLOURS[label], label=label)
        axes['a'].axhline(planned[-1], color='0.4', linewidth=0.8)
        axes['a'].set(xlabel='time [s]', ylabel='$u_h$ [mm]', title='contact point on the rim')
        draw_errors(axes['b'], record, 'm, rad, m/s, rad/s')
        draw_controls(axes['c'], record, unit='rad/s$^2$', title='planned control of the plate')
        draw_normal_force(axes['d'], record)


DEMO = Demo(
    experiment='butterfly',
    request=state_goal,
    places=on_plate,
    position_off=(0.002, 0.0),
    rotation_off=(0.0, 0.0, 0.0),
    watched={'contact/coordinates': 'joints', 'contact/wrench': 'force'},
    draw=draw,
)
