"""The section ``plan`` of a sphere with a pendulum as a problem of gaits."""

from __future__ import annotations

import numpy as np
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.layouts import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.faults import check, located
from rolling_dynamics.scenario.fields import note, quantity
from rolling_dynamics.scenario.lines import tells_lines
from rolling_dynamics.scenario.model import Section
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_planner.gait_planner.problem import Circle, GaitProblem, Waypoint


class GaitPlan(Section):
    """What `rolling plan` looks for: a manoeuvre of gaits."""

    waypoints: list[Waypoint] = note(
        'points to pass, in order; the sphere comes to rest at the last one', min_length=1
    )
    obstacles: list[Circle] = note('circles that the shell must not touch', default=[])
    limits: GaitLimits = note('of contact and drive', default=GaitLimits())
    reserve: float = quantity(
        'share of friction and torque that the plan may use',
        positive=True,
        most=1,
        default=GaitProblem.reserve,
    )
    clearance: float = quantity(
        'between shell and obstacle', 'm', least=0, default=GaitProblem.clearance
    )
    max_speed: float = quantity(
        '(default: none)', 'm/s', positive=True, default=GaitProblem.max_speed
    )


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
    plan = check(GaitPlan, raw, 'plan')
    velocities = [scenario.x0[STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W')]
    if np.any(np.concatenate(velocities)):
        raise ScenarioError('initial: a manoeuvre begins at rest; leave velocity and spin out')
    x, y = scenario.x0[STATE.slice('contact')].tolist()
    with located('plan'):
        return GaitProblem(
            params=read_sphere(scenario.raw),
            start=(x, y),
            waypoints=plan.waypoints,
            obstacles=plan.obstacles,
            limits=plan.limits,
            reserve=plan.reserve,
            clearance=plan.clearance,
            max_speed=plan.max_speed,
        )
