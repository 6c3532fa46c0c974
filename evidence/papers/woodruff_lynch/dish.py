"""Section V-D, Fig. 7: an ellipsoid rolls in an ellipsoidal dish, pure rolling."""

from __future__ import annotations

from functools import cache
from typing import Any

from evidence.papers.row import Row, unprinted
import numpy as np
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.result import simulate_scenario, simulation_result

SCENARIO = 'ellipsoid_in_ellipsoidal_dish'


@cache
def result() -> dict[str, Any]:
    """Return the motion as the content of a result file."""
    scenario = load_scenario(SCENARIO)
    return simulation_result(scenario, simulate_scenario(scenario))


def rows() -> list[Row]:
    """Return what must hold of the motion; the paper prints no number of it."""
    arrays = {name: np.array(a['values'], dtype=float) for name, a in result()['arrays'].items()}
    energy = arrays['energy']
    potential = float(np.ptp(arrays['object_position'][:, 2])) * 0.2 * 9.81
    return [
        unprinted(
            'Fig. 7: greatest spin about the contact normal, pure rolling',
            np.abs(arrays['w_HO_Ch'][:, 2]).max(),
            0.0,
            1e-9,
            'rad/s',
        ),
        unprinted(
            'Fig. 7: drift of the energy over the potential energy exchanged',
            np.ptp(energy) / potential,
            0.0,
            1e-9,
        ),
    ]
