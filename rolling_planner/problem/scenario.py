"""The section ``plan`` of a scenario as a planning problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import re
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import ChartCoordinates, offers
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.attitude import Attitude, quaternion_of
from rolling_dynamics.scenario.faults import check
from rolling_dynamics.scenario.lines import tells_lines
from rolling_dynamics.suggestion import suggestion
from rolling_planner.plan import Plan
from rolling_planner.problem.object_motion import OBJECT_ENTRIES, object_entry
from rolling_planner.problem.plan_problem import BY_SAMPLES, PlanProblem
from rolling_planner.problem.plan_section import PlanSection

OPTIONS = (  # that have the same name in the file
    'goal_tolerance',
    'normal_force_min',
    'time_budget',
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
    'weights',
)


@tells_lines
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
        raise ScenarioError('plan: is missing (the section that holds the goal of a plan)')
    plan = check(PlanSection, raw, 'plan')
    if 'hybrid' in scenario.raw and plan.method != BY_SAMPLES:
        raise ScenarioError(
            f'plan.method: must be {BY_SAMPLES} beside `hybrid`, got {plan.method}, which plans '
            'motions that roll throughout'
        )
    charted = offers(scenario.system, ChartCoordinates)
    if charted is not None and not charted.on_first_chart:
        raise ScenarioError(
            'initial: a plan cannot start at a pole of the chart of the hand; start elsewhere, or '
            'choose another `pole` of its surface'
        )
    state, control = scenario.system.state, scenario.system.control
    goal = {name: _wanted(name, given, state) for name, given in plan.goal.items()}
    active = _active_controls(plan.active_controls, control)
    try:
        return PlanProblem(
            system=scenario.system,
            p=scenario.p,
            x_start=scenario.x0,
            goal=goal,
            horizon=plan.horizon or scenario.duration,
            active_controls=active,
            control_limits=_control_limits(scenario, active),
            state_limits=_state_limits(plan.state_limits, state),
            warm_start=_first(scenario) if plan.method == BY_SAMPLES else None,
            **{name: getattr(plan, name) for name in OPTIONS},
        )
    except ParameterError as e:
        # the planner's own text names the entry and goes on with what must hold
        text = re.sub(r'^([\w.]+) (must|takes)\b', r'\1: \2', str(e))
        raise ScenarioError(f'plan.{text}') from None


def _first(scenario: Scenario) -> Plan | None:
    """Return the hand's motion of a scenario as a plan to begin with, None where there is none."""
    if scenario.control.samples is None:
        return None
    times, controls = scenario.control.samples
    times = np.asarray(times, dtype=float)
    rising = np.concatenate([[True], np.diff(times) > 0])
    return Plan.of(
        scenario.system,
        times=times[rising],
        states=np.tile(scenario.x0, (int(rising.sum()), 1)),
        controls=np.asarray(controls, dtype=float)[rising],
    )


def _wanted(name: str, given: Array | Mapping[str, Any] | None, state: Layout) -> Array | None:
    """Return the wanted numbers of one name of a goal, None where it is freed."""
    path = f'plan.goal.{name}'
    components, turns = _components(name, state)
    if given is None:
        return None
    if isinstance(given, Mapping):
        if not turns:
            raise ScenarioError(f'{path}: takes {len(components)} numbers, got {given!r}')
        return quaternion_of(check(Attitude, given, path))
    values = given.reshape(-1)
    if values.size != len(components):
        what = f' {" ".join(components)}' if len(components) > 1 else ''
        got = f'{values.size}: {values.tolist()}'
        raise ScenarioError(f'{path}: takes {len(components)} numbers{what}, got {got}')
    return values


def _components(name: str, state: Layout) -> tuple[tuple[str, ...], bool]:
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
    raise ScenarioError(f'plan.goal.{name}: no such state{suggestion(name, known)}')


def _active_controls(given: Sequence[str] | None, control: Layout) -> list[str]:
    if given is None:
        return list(control.names)
    entries = {e.name: list(e.components) for e in control.entries}
    names: list[str] = []
    for k, name in enumerate(given):
        if name not in entries and name not in control.names:
            known = suggestion(name, [*entries, *control.names])
            raise ScenarioError(f'plan.active_controls[{k}]: no such control: {name!r}{known}')
        names += entries.get(name, [name])
    return list(dict.fromkeys(names))


def _control_limits(scenario: Scenario, active: list[str]) -> dict[str, tuple[float, float]]:
    names = scenario.system.control.names
    limits = {n: float(scenario.control_limits[names.index(n)]) for n in active}
    return {n: (-high, high) for n, high in limits.items() if math.isfinite(high)}


def _state_limits(
    given: Mapping[str, Array | float], state: Layout
) -> dict[str, tuple[float, float]]:
    limits = {}
    for name, values in given.items():
        path = f'plan.state_limits.{name}'
        if name not in state.names:
            raise ScenarioError(
                f'{path}: no such number of the state{suggestion(name, state.names)}'
            )
        low, high = (-values, values) if isinstance(values, float) else values.tolist()
        if not low < high:
            raise ScenarioError(f'{path}: must increase, got [{low:g}, {high:g}]')
        limits[name] = (low, high)
    return limits
