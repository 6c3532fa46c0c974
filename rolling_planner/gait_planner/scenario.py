"""The section ``plan`` of a sphere with a pendulum as a problem of gaits."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_dynamics.errors import ScenarioError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.layouts import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_dynamics.scenario.section import located, Section
from rolling_dynamics.scenario.validation import check, load_schema
from rolling_planner.gait_planner.problem import Circle, GaitProblem, Point, Waypoint

NUMBERS = ('reserve', 'clearance', 'max_speed')


def gait_plan_schema() -> dict[str, Any]:
    """Return the schema of the section ``plan``."""
    return load_schema('rolling_planner.gait_planner', 'gait_plan')


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
    check(raw, gait_plan_schema(), 'plan')
    velocities = [scenario.x0[STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W')]
    if np.any(np.concatenate(velocities)):
        raise ScenarioError('initial: a manoeuvre begins at rest; leave velocity and spin out')
    plan = Section(raw, 'plan')
    limits = plan.section('limits')
    start = scenario.x0[STATE.slice('contact')]
    with located('plan'):
        return GaitProblem(
            params=read_sphere(Section(scenario.raw)),
            start=(float(start[0]), float(start[1])),
            waypoints=[
                _waypoint(Section(w, f'plan.waypoints[{k}]'))
                for k, w in enumerate(plan['waypoints'])
            ],
            obstacles=[
                _circle(Section(c, f'plan.obstacles[{k}]'))
                for k, c in enumerate(plan.get('obstacles', []))
            ],
            limits=GaitLimits(**{name: limits.number(name) for name in limits.values}),
            **{name: plan.number(name) for name in NUMBERS if name in plan},
        )


def _waypoint(section: Section) -> Waypoint:
    return Waypoint(
        position=_point(section, 'position'),
        tolerance=section.number('tolerance', Waypoint.tolerance),
        wait=section.number('wait') if 'wait' in section else None,
    )


def _circle(section: Section) -> Circle:
    return Circle(center=_point(section, 'center'), radius=section.number('radius'))


def _point(section: Section, key: str) -> Point:
    x, y = section.numbers(key)
    return float(x), float(y)
