"""The planning problems of the benchmarks: Woodruff & Lynch, Section VI-A and Table II."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_dynamics.contact import ContactSystem
from rolling_dynamics.surfaces import Plane, Sphere
from rolling_planner import PlanProblem

MASS = 0.1
REST = {
    'q_WH': [1, 0, 0, 0],
    'p_WH': [0, 0, 0],
    'contact_h': [0, 0],
    'w_WH_H': [0, 0, 0],
    'v_WH_H': [0, 0, 0],
}
COMMON: dict[str, Any] = {
    'horizon': 2.0,
    'active_controls': ('alpha_WH_H_x', 'alpha_WH_H_y'),
    'control_limits': 50.0,
}


def hard(mu: float = 1.0, **options: Any) -> PlanProblem:  # noqa: ANN401
    """Return the goal that needs a nonholonomic loop: a ball of 0.1 m."""
    radius = 0.1
    system = ContactSystem(Sphere(radius), Plane())
    return PlanProblem(
        system=system,
        p=system.pack_parameters(mass=MASS, inertia=0.4 * MASS * radius**2, mu=mu),
        x_start=system.state.pack(**REST, q_HO=[1, 0, 0, 0], w_HO_H=[0, 0, 0]),
        goal={
            'contact_h': [0, -0.033],
            'q_HO': [np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0],
        },
        **{**COMMON, **options},
    )


def cone() -> PlanProblem:
    """Return the same with an active friction cone."""
    return hard(mu=0.1)


def straight() -> PlanProblem:
    """Return the goal of one straight roll, by the paper's own loop and weights."""
    # imports are part of the time, and the others need no scenario
    from rolling_dynamics.scenario import load_scenario  # noqa: PLC0415
    from rolling_planner.problem.scenario import read_problem  # noqa: PLC0415

    return read_problem(load_scenario('ball_on_plate_table_ii'))


PROBLEMS = {'straight': straight, 'hard': hard, 'cone': cone}
