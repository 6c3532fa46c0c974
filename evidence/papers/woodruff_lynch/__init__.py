"""
The printed numbers and figures of Woodruff & Lynch, beside what is computed here.

The paper prints no radius of the ball of Table II and no inertia or friction of the laboratory.
"""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

from evidence.papers.row import Drawing, Row, write_drawings
from evidence.papers.woodruff_lynch import ball_on_plate, laboratory, spinning_plate
import numpy as np
from PIL import Image
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.animation.movie import pictures, Shot, side_by_side
from rolling_robotics.result import simulate_scenario, simulation_result
from rolling_robotics.scene.general import scene_of

LONG = 'Fig. 13, two flip-ups of each law instead of twelve'
DISH = 'ellipsoid_in_ellipsoidal_dish'


def rows(*, fast: bool = False) -> list[Row]:
    """Return every number, section by section; ``fast`` makes fewer trials."""
    return [
        *spinning_plate.rows(),
        *dish_rows(),
        *ball_on_plate.rows(),
        *laboratory.rows(fast=fast),
    ]


def stated(_: list[Row]) -> list[str]:
    """Return what was chosen, and what the paper describes without a number."""
    absent = ' and '.join(spinning_plate.missing())
    return [
        *([f'Fig. 6: {absent} not installed, and left out'] if absent else []),
        'Fig. 7: the dimensions of ellipsoid and dish are not printed; chosen, see the scenario',
        f'    {DISH}',
        'Table II: the radius of the ball is not printed; taken as 0.021 m (one straight roll)',
        '    and as 0.1 m (a loop); weights and method: scenario ball_on_plate_table_ii',
        'Fig. 10: the gains of the regulator are not printed; the ones of this suite',
        *laboratory.stated(),
    ]


def figures(folder: Path, *, fast: bool = False) -> list[Path]:
    """Draw the figures into a folder and return the files; ``fast`` makes fewer trials."""
    drawings: dict[str, Drawing] = {
        'figure_5': spinning_plate.paths_on_the_plate,
        'figure_6': spinning_plate.other_engines,
        'figure_7': _figure_7,
        'figure_9': ball_on_plate.plan_beside_geometric_plans,
        'figure_10': ball_on_plate.coarse_plan_followed,
        'damping': laboratory.damping_figure,
        'figure_13': partial(laboratory.flip_up_band, fast=fast),
        'figure_14': laboratory.flip_up_strip,
        'figure_15': laboratory.throw_strip,
        'figure_15_flight': laboratory.flight_strip,
    }
    return write_drawings(folder, 'woodruff_lynch', drawings)


def _figure_7() -> Image.Image:
    """Return Fig. 7: snapshots of the ellipsoid in the dish every 0.5 s."""
    shot = Shot(width=420, strips=False, every=0.5)
    return Image.fromarray(side_by_side(list(pictures(scene_of(in_the_dish()), shot))))


@cache
def in_the_dish() -> dict[str, Any]:
    """Return the result file of Section V-D: an ellipsoid rolls in a dish."""
    scenario = load_scenario(DISH)
    return simulation_result(scenario, simulate_scenario(scenario))


def dish_rows() -> list[Row]:
    """Return what must hold of the motion; the paper prints no number of it."""
    arrays = {
        name: np.array(a['values'], dtype=float) for name, a in in_the_dish()['arrays'].items()
    }
    energy, spin = arrays['energy'], np.abs(arrays['w_HO_Ch'][:, 2]).max()
    potential = float(np.ptp(arrays['object_position'][:, 2])) * 0.2 * 9.81
    spins = 'Fig. 7: greatest spin about the contact normal, pure rolling'
    drifts = 'Fig. 7: drift of the energy over the potential energy exchanged'
    return [
        Row(spins, None, spin, 1e-9, 'rad/s', 0.0),
        Row(drifts, None, np.ptp(energy) / potential, 1e-9, expected=0.0),
    ]
