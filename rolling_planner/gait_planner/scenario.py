"""The section ``plan`` of a sphere with a pendulum as a problem of gaits."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.document import tells_lines
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_planner.gait_planner.problem import GaitProblem


@tells_lines
def read_gait_problem(scenario: Scenario) -> GaitProblem:
    """
    Return the manoeuvre that a scenario asks for.

    Parameters
    ----------
    scenario
        Of a sphere with a pendulum, with a section ``plan``; it begins at rest.

    Raises
    ------
    ScenarioError
        There is no such section, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section with the waypoints of a manoeuvre)')
    velocities = [scenario.x0[STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W')]
    if np.any(np.concatenate(velocities)):
        raise ScenarioError('initial: a manoeuvre begins at rest; leave velocity and spin out')
    x, y = scenario.x0[STATE.slice('contact')].tolist()
    return check(GaitProblem, raw, 'plan', {'params': read_sphere(scenario.raw), 'start': (x, y)})
