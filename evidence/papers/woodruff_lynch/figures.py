"""Figures of Woodruff & Lynch, computed anew."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from evidence.papers.row import Drawing, write_drawings
from evidence.papers.woodruff_lynch import (
    ball_on_plate,
    dish,
    laboratory,
    spinning_plate,
)
from PIL import Image
from rolling_robotics.animation.movie import pictures, Shot, side_by_side
from rolling_robotics.scene.general import scene_of


def draw_all(folder: Path, *, fast: bool = False) -> list[Path]:
    """Write every figure as PNG and return the files; ``fast`` makes fewer trials."""
    drawings: dict[str, Drawing] = {
        'figure_5': spinning_plate.paths_on_the_plate,
        'figure_6': spinning_plate.other_engines,
        'figure_7': in_the_dish,
        'figure_9': ball_on_plate.plan_beside_geometric_plans,
        'figure_10': ball_on_plate.coarse_plan_followed,
        'damping': laboratory.damping_figure,
        'figure_13': partial(laboratory.flip_up_band, fast=fast),
        'figure_14': laboratory.flip_up_strip,
        'figure_15': laboratory.throw_strip,
        'figure_15_flight': laboratory.flight_strip,
    }
    return write_drawings(folder, 'woodruff_lynch', drawings)


def in_the_dish() -> Image.Image:
    """Return Fig. 7: snapshots of the ellipsoid in the dish every 0.5 s."""
    shot = Shot(width=420, strips=False, every=0.5)
    return Image.fromarray(side_by_side(list(pictures(scene_of(dish.result()), shot))))
