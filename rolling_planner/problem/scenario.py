"""The section ``plan`` of a scenario as a planning problem."""

from __future__ import annotations

from collections.abc import Mapping
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.capabilities import ChartCoordinates, offers
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.attitude import read_attitude
from rolling_dynamics.scenario.section import Section
from rolling_dynamics.scenario.validation import check, load_definition, load_schema
from rolling_dynamics.suggestion import suggestion
from rolling_planner.problem.object_motion import OBJECT_ENTRIES, object_entry
from rolling_planner.problem.plan_problem import PlanProblem, Weights

SCHEMAS = 'rolling_dynamics.scenario'  # package with the schemas that scenarios share
NUMBERS = ('goal_tolerance', 'normal_force_min', 'time_budget')
AS_GIVEN = (
    'goal_mode',
    'quiet_ends',
    'release',
    'friction_cone',
    'spin_friction',
    'method',
    'segments',
    'refinements',
    'iterations',
    'samples',
    'guess',
    'seed',
)


def plan_schema() -> dict[str, Any]:
    """Return the schema of the section ``plan``."""
    return load_schema('rolling_planner.problem', 'plan')


def read_problem(scenario: Scenario) -> PlanProblem:
    """
    Return the planning problem of a scenario.

    Parameters
    ----------
    scenario
        A scenario with a section ``plan``.

    Raises
    ------
    ScenarioError
        There is no such section, or an entry is wrong; the text begins with its path.

    """
    raw = scenario.raw.get('plan')
    if raw is None:
        raise ScenarioError('plan: is missing (the section that tells the goal of a plan)')
    check(raw, plan_schema(), 'plan')
    charted = offers(scenario.system, ChartCoordinates)
    if charted is not None and not charted.on_first_chart:
        raise ScenarioError(
            'initial: a plan cannot start at a pole of the chart of the hand; start elsewhere, or '
            'choose another `pole` of its surface'
        )
    plan = Section(raw, 'plan')
    state, control = scenario.system.state, scenario.system.control
    goal = _goal(plan.section('goal'), state)
    options: dict[str, Any] = {k: plan.number(k) for k in NUMBERS if k in plan}
    options |= {k: plan[k] for k in AS_GIVEN if k in plan}
    active = _active_controls(plan, control)
    try:
        return PlanProblem(
            system=scenario.system,
            p=scenario.p,
            x_start=scenario.x0,
            goal=goal,
            horizon=plan.number('horizon', scenario.duration),
            active_controls=active,
            control_limits=_control_limits(scenario, active),
            state_limits=_state_limits(plan.section('state_limits'), state),
            weights=_weights(plan.section('weights'), len(active)),
            **options,
        )
    except ParameterError as e:
        # the planner's own text names the entry and goes on with what must hold
        text = re.sub(r'^([\w.]+) (must|takes)\b', r'\1: \2', str(e))
        raise ScenarioError(f'plan.{text}') from None


def _goal(section: Section, state: Layout) -> dict[str, NDArray[np.float64] | None]:
    return {name: _wanted(section, name, state) for name in section.values}


def _wanted(section: Section, name: str, state: Layout) -> NDArray[np.float64] | None:
    """Return the wanted numbers of one name of a goal, None where it is freed."""
    components, turns = _components(section, name, state)
    given = section[name]
    if given is None:
        return None
    if isinstance(given, Mapping):
        if not turns:
            raise section.fail(name, f'takes {len(components)} numbers, got {given!r}')
        check(given, load_definition(SCHEMAS, 'common', 'attitude'), section.at(name))
        return read_attitude(section, name)
    values = section.numbers(name).reshape(-1)
    if values.size != len(components):
        what = f' {" ".join(components)}' if len(components) > 1 else ''
        got = f'{values.size}: {values.tolist()}'
        raise section.fail(name, f'takes {len(components)} numbers{what}, got {got}')
    return values


def _components(section: Section, name: str, state: Layout) -> tuple[tuple[str, ...], bool]:
    """Return the scalar names that a name of a goal stands for, and whether it is an attitude."""
    if name in state:
        entry = state.entry(name)
        return entry.components, entry.kind == 'quaternion'
    scalars = {c for e in state.entries for c in e.components if e.kind != 'quaternion'}
    if name in scalars:
        return (name,), False
    entry_name, where = object_entry(name)
    if entry_name in OBJECT_ENTRIES:
        suffixes = 'wxyz' if OBJECT_ENTRIES[entry_name] == 4 else 'xyz'
        return tuple(f'{entry_name}_{s}' for s in suffixes[where]), len(suffixes) == 4
    known = [*(e.name for e in state.entries), *sorted(scalars), *OBJECT_ENTRIES]
    raise section.fail(name, f'no such state{suggestion(name, known)}')


def _active_controls(plan: Section, control: Layout) -> list[str]:
    if 'active_controls' not in plan:
        return list(control.names)
    entries = {e.name: list(e.components) for e in control.entries}
    names: list[str] = []
    for k, name in enumerate(plan['active_controls']):
        if name not in entries and name not in control.names:
            known = suggestion(name, [*entries, *control.names])
            raise plan.fail(f'active_controls[{k}]', f'no such control: {name!r}{known}')
        names += entries.get(name, [name])
    return list(dict.fromkeys(names))


def _control_limits(scenario: Scenario, active: list[str]) -> dict[str, tuple[float, float]]:
    names = scenario.system.control.names
    limits = {n: float(scenario.control_limits[names.index(n)]) for n in active}
    return {n: (-high, high) for n, high in limits.items() if math.isfinite(high)}


def _state_limits(section: Section, state: Layout) -> dict[str, tuple[float, float]]:
    limits = {}
    for name in section.values:
        if name not in state.names:
            raise section.fail(name, f'no such number of the state{suggestion(name, state.names)}')
        values = section.numbers(name).reshape(-1)
        low, high = (-values[0], values[0]) if values.size == 1 else values
        if not low < high:
            raise section.fail(name, f'must increase, got [{low:g}, {high:g}]')
        limits[name] = (float(low), float(high))
    return limits


def _weights(section: Section, controls: int) -> Weights:
    options: dict[str, Any] = {}
    if 'control' in section:
        control = section.numbers('control')
        if control.size not in (1, controls):
            raise section.fail('control', f'takes 1 or {controls} numbers, got {control.size}')
        options['control'] = control
    for key in ('tracking', 'terminal'):
        inner = section.section(key)
        options[key] = {name: inner.number(name) for name in inner.values}
    return Weights(view=section.get('view', Weights.view), **options)
