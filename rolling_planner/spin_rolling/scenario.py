"""The section ``plan`` of a scenario of the spin-rolling sphere as a planning problem."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import model_validator
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.entry import refused
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.fields import note, quantity, whole
from rolling_dynamics.scenario.lines import tells_lines
from rolling_dynamics.scenario.model import Section
from rolling_dynamics.spin_rolling_sphere import coordinates_from_attitude, SpinRollingSphere
from rolling_planner.spin_rolling.bounds import InputBounds
from rolling_planner.spin_rolling.problem import (
    contact_at,
    contact_of_attitude,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.region import ContactRegion

ENTRIES = ('u_s', 'v_s', 'u_o', 'v_o', 'psi')
AS_GIVEN = ('mode', 'region', 'bounds', 'optimise', 'shots', 'seed')


class Goal(Section):
    """Contact at the end; what is not named is as at the start."""

    u_s: float | None = quantity('contact on the plane', 'm', default=None)
    v_s: float | None = quantity('contact on the plane', 'm', default=None)
    u_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    v_o: float | None = quantity('contact on the sphere', 'rad', default=None)
    psi: float | None = quantity('angle of spin', 'rad', default=None)

    @model_validator(mode='after')
    def _some(self) -> Goal:
        if not self.given:
            raise refused('at least one entry is needed, got none')
        return self


class SpinRollingPlan(Section):
    """What `rolling plan` looks for."""

    goal: Goal
    mode: Literal['spin_rolling', 'pure_rolling'] = note(
        'three inputs, or two', default='spin_rolling'
    )
    region: ContactRegion = note(
        'where the contact may be; everywhere by default', default=ContactRegion()
    )
    bounds: InputBounds = InputBounds()
    optimise: bool = note('whether the plan is shortened', default=True)
    shots: int = whole('shootings of the optimisation', 1, default=SpinRollingProblem.shots)
    seed: int = whole('seed of the shootings', 0, default=SpinRollingProblem.seed)


@tells_lines
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
        raise ScenarioError('plan: is missing (the section that holds the goal of a plan)')
    plan, system = check(SpinRollingPlan, raw, 'plan'), scenario.system
    if not isinstance(system, SpinRollingSphere):
        raise ScenarioError(f'system: a spin_rolling_sphere is needed, got {system.name!r}')
    R = np.array(system.attitude(scenario.x0))
    start = contact_of_attitude(scenario.x0[:2], R)
    try:
        polar = plan.goal.given >= set(ENTRIES[2:])  # not needed, and not defined at a pole
        here = np.zeros(3) if polar else coordinates_from_attitude(R)
        known = dict(zip(ENTRIES, [*scenario.x0[:2], *here], strict=True))
        wanted = known | plan.goal.model_dump(exclude_unset=True)
        goal = contact_at([wanted[name] for name in ENTRIES])
        return SpinRollingProblem(
            radius=float(scenario.p[0]),
            start=start,
            goal=goal,
            **{name: getattr(plan, name) for name in AS_GIVEN},
        )
    except ParameterError as e:
        raise ScenarioError(f'plan.{e}'.replace('plan.start: ', 'initial: ', 1)) from None
