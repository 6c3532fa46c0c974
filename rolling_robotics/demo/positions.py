"""Where states of a system lie on the floor, or on the plate."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.robots import robot_view
from rolling_dynamics.scenario import Scenario

Places = Callable[[ArrayLike], NDArray[np.float64]]


def on_plate(scenario: Scenario) -> Places:
    """Return what takes states, shape (k, n), to contact points u_h, v_h, shape (k, 2) [m]."""
    where = scenario.system.state.slice('contact_h')
    return lambda states: np.atleast_2d(np.asarray(states, dtype=float))[:, where]


def on_floor(scenario: Scenario) -> Places:
    """Return what takes states of a robot, shape (k, n), to its centre, shape (k, 2) [m]."""
    view = robot_view(scenario.system, scenario.p)
    s = view.symbols
    centre = ca.Function('centre', [s.x, s.p], [view.centre[:2]])

    def places(states: ArrayLike) -> NDArray[np.float64]:
        x = np.atleast_2d(np.asarray(states, dtype=float))
        return np.array(centre(x.T, scenario.p)).T

    return places
