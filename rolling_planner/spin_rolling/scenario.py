"""The section ``plan`` of a scenario of the spin-rolling sphere as a planning problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.scenario.validation import check, load_schema
from rolling_dynamics.spin_rolling_sphere import coordinates_from_attitude, SpinRollingSphere
from rolling_planner.spin_rolling.bounds import InputBounds
from rolling_planner.spin_rolling.problem import (
    contact_at,
    contact_of_attitude,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.region import ContactRegion

ENTRIES = ('u_s', 'v_s', 'u_o', 'v_o', 'psi')
AS_GIVEN = ('mode', 'optimise', 'shots', 'seed')


def read_spin_rolling_problem(scenario: Scenario) -> SpinRollingProblem:
    """
    Return the planning problem of a scenario.

    Raises
    ------
    ScenarioError
        There is no section ``plan``, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section that tells the goal of a plan)')
    check(raw, load_schema('rolling_planner.spin_rolling', 'plan'), 'plan')
    plan, system = Section(raw, 'plan'), scenario.system
    if not isinstance(system, SpinRollingSphere):
        raise ScenarioError(f'system: a spin_rolling_sphere is needed, got {system.name!r}')
    R = np.array(system.attitude(scenario.x0))
    start = contact_of_attitude(scenario.x0[:2], R)
    given = plan.section('goal')
    try:
        if all(name in given for name in ENTRIES[2:]):
            here = np.zeros(3)  # not needed, and not defined at a pole
        else:
            here = coordinates_from_attitude(R)
        known = dict(zip(ENTRIES, [*scenario.x0[:2], *here], strict=True))
        goal = contact_at([given.number(name, known[name]) for name in ENTRIES])
        return SpinRollingProblem(
            radius=float(scenario.p[0]),
            start=start,
            goal=goal,
            region=_region(plan),
            bounds=_bounds(plan),
            **{k: plan[k] for k in AS_GIVEN if k in plan},
        )
    except ParameterError as e:
        raise ScenarioError(f'plan.{e}'.replace('plan.start: ', 'initial: ', 1)) from None


def _region(plan: Section) -> ContactRegion:
    section = plan.section('region')
    options: dict[str, Any] = {
        k: tuple(section.numbers(k).tolist())
        for k in ('u_bounds', 'v_bounds', 'axis')
        if k in section
    }
    options |= {k: section.number(k) for k in ('half_angle', 'pole_margin') if k in section}
    return ContactRegion(**options)


def _bounds(plan: Section) -> InputBounds:
    section = plan.section('bounds')
    return InputBounds(**{k: section.number(k) for k in section.values})
