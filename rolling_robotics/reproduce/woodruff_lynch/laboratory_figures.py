"""Figs. 13, 14 and 15: angle of the object over twelve flip-ups, and strips of snapshots."""

from __future__ import annotations

import math

from matplotlib.figure import Figure
import numpy as np
from PIL import Image
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_dynamics.robots.view import HAND, OBJECT
from rolling_dynamics.surfaces import Ellipsoid, Plane
from rolling_robotics.animation.movie import pictures, Shot, side_by_side
from rolling_robotics.animation.painter import Camera
from rolling_robotics.figures.style import COLOURS, GREY, WIDTH
from rolling_robotics.reproduce.woodruff_lynch.laboratory import flip_ups, trial
from rolling_robotics.scene.meshes import surface_mesh
from rolling_robotics.scene.scene import Body, GROUND, Scene
from rolling_robotics.trials.judge import ANGLE
from rolling_robotics.trials.summary import band
from rolling_robotics.trials.trial import Record

SIDE = Camera(-math.pi / 2, math.radians(8))
DEPTH = 0.02  # m, half of what is drawn of plate and object across the plane


def flip_up_band(*, fast: bool = False) -> Figure:
    """Return Fig. 13: mean and two standard deviations of flip-ups of each law."""
    figure = Figure(figsize=(WIDTH, 3.0))
    axes = figure.subplots()
    for k, (law, trials) in enumerate(flip_ups(fast=fast).items()):
        seen = band(trials)
        stood = sum(not t.ended for t in trials)
        label = f'{law.replace("_", " ")}: {stood} of {len(trials)} balance'
        axes.plot(seen.times, seen.mean, color=COLOURS[k], label=label)
        low, high = seen.mean - seen.spread, seen.mean + seen.spread
        axes.fill_between(seen.times, low, high, color=COLOURS[k], alpha=0.25)
    axes.axhline(0.0, color=GREY, linewidth=0.8, linestyle='--')
    axes.set(
        xlabel='time [s]',
        ylabel='turn from upright [rad]',
        title='flip-up: mean and two standard deviations',
        ylim=(-2.0, 2.0),  # what falls over is not followed
    )
    axes.legend(loc='lower right')
    return figure


def flip_up_strip() -> Image.Image:
    """Return Fig. 14: a flip-up under feedback, snapshots every 0.5 s."""
    return _strip(trial('flip_up', 'closed_loop'), 4.5, 0.5, 'flip-up')


def throw_strip() -> Image.Image:
    """Return Fig. 15: a throw, its catch and the balance after it, snapshots every 0.5 s."""
    return _strip(trial('throw_catch', 'closed_loop'), 4.5, 0.5, 'throw, catch and balance')


def flight_strip() -> Image.Image:
    """Return the throw and the catch of Fig. 15, snapshots every 0.1 s."""
    return _strip(trial('throw_catch', 'closed_loop'), 1.4, 0.1, 'throw and catch')


def damping_figure() -> Figure:
    """Return the rocking of the object, alone and under control, Section VIII-C."""
    figure = Figure(figsize=(WIDTH, 2.6))
    axes = figure.subplots()
    for k, (law, name) in enumerate((('open_loop', 'alone'), ('closed_loop', 'controlled'))):
        seen = trial('damping', law)
        axes.plot(seen.times, seen[ANGLE] + math.pi / 2, color=COLOURS[k], label=name)
    axes.set(xlabel='time [s]', ylabel='turn from flat [rad]', title='damping of the rocking')
    axes.legend(loc='upper right')
    return figure


def _strip(seen: Record, end: float, every: float, title: str) -> Image.Image:
    shot = Shot(rate=1 / every, every=every, width=360, camera=SIDE, strips=False)
    return Image.fromarray(side_by_side(list(pictures(_scene(seen, end, title), shot))))


def _scene(seen: Record, end: float, title: str) -> Scene:
    """Return plate and object of a trial up to a time [s]."""
    shown, laboratory = seen.times <= end + 1e-9, Laboratory()
    a, b = laboratory.semi_axes
    half = laboratory.plate / 2
    ellipse, plate = Ellipsoid(b, DEPTH, a), Plane()
    whole = np.array([[1e-3, 0.0], [math.pi - 1e-3, 2 * math.pi]])
    part = np.array([[-half, -2 * DEPTH], [half, 2 * DEPTH]])
    hand, object_ = seen['hand'][shown], seen['object'][shown]
    return Scene(
        title=title,
        system='hybrid_contact',
        times=seen.times[shown],
        bodies=(
            Body(
                name='hand',
                position=hand[:, 4:],
                attitude=hand[:, :4],
                meshes=(surface_mesh(plate, part, HAND, closed=False),),
                layer=GROUND,
            ),
            Body(
                name='object',
                position=object_[:, 4:],
                attitude=object_[:, :4],
                meshes=(surface_mesh(ellipse, whole, OBJECT),),
            ),
        ),
    )
