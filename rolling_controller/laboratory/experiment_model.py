"""Plan, states and commands of an experiment in the laboratory, in the plane or in space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import json
from pathlib import Path
from typing import Any

import numpy as np
from rolling_controller.laboratory.laws import (
    FOLLOWING,
    PLANAR,
    Predicting,
    Prepared,
    SPATIAL,
)
from rolling_dynamics.arrays import Array
from rolling_dynamics.configuration import read_regular
from rolling_dynamics.contact.contact_view import Source, StateSource
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, PlanningError, printable, quoted
from rolling_dynamics.hybrid_contact.from_contact_system import ObservedState
from rolling_dynamics.restriction import Restriction
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario_model import Model
from rolling_planner import plan_rolling
from rolling_planner.check_plan import check_plan
from rolling_planner.laboratory.laboratory import Laboratory
from rolling_planner.plan import check_plan_fits, Plan
from rolling_planner.problem.scenario import read_problem

MAX_BYTES = 100_000_000  # of a plan file
SAME_START = 1e-6  # by which each number of two starts may differ [m, rad, m/s, rad/s]
OFF = 1e-6  # of a state or control that is left out [m, rad, m/s, rad/s and their rates]


def experiment_plan(scenario: Scenario, plan_file: str = '') -> Plan:
    """
    Return the plan of an experiment, once the contact is seen to hold along it.

    Parameters
    ----------
    scenario
        What is moved, and from where.
    plan_file
        What `rolling plan` wrote for this scenario; empty to plan by its section ``plan``.

    Raises
    ------
    ScenarioError, ParameterError, PlanningError
        There is no section ``plan``, no plan is found or can be read, it starts elsewhere, or the
        contact does not hold along it.

    """
    if plan_file:
        plan = _read(Path(plan_file).expanduser())
        check_plan_fits(plan, scenario.system)
        if not np.abs(plan.states[0] - scenario.x0).max() <= SAME_START:
            raise PlanningError(
                f'{plan_file}: starts elsewhere than {scenario.name}; plan with that scenario'
            )
    else:
        plan = plan_rolling(read_problem(scenario))
    found = check_plan(scenario.system, scenario.p, plan)
    if not found.ok:
        raise PlanningError(f'the plan of {scenario.name} does not hold: {found.reason}')
    return plan


def _read(path: Path) -> Plan:
    try:
        document = json.loads(read_regular(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f'{path}: is not JSON: {printable(error, 200)}') from None
    if not isinstance(document, dict) or 'plan' not in document:
        raise ParameterError(f'{path}: holds no plan; `rolling plan` writes one')
    return Plan.from_dict(document['plan'])


def restricted_plan(plan: Plan, model: Restriction[Any]) -> Plan:
    """
    Return a plan of a whole system as one of a restriction of it.

    Parameters
    ----------
    plan
        A plan of the whole system.
    model
        The restriction.

    Raises
    ------
    ParameterError
        The plan is for another system, or moves what is left out.

    """
    if plan.state_names != tuple(model.whole.state.names):
        raise ParameterError(f'the plan is for {plan.system!r}, not for {model.name!r}')
    return replace(
        plan,
        system=model.name,
        model_hash=model.model_hash,
        state_names=tuple(model.state.names),
        control_names=tuple(model.control.names),
        states=model.take_states(plan.states, OFF),
        controls=model.take_controls(plan.controls, OFF),
    )


ALL = (0, 1, 2, 3, 4, 5)
MOST = np.array([80.0] * 3 + [15.0] * 3)  # rad/s^2, m/s^2: the greatest that any hand gets


@dataclass(frozen=True, eq=False)
class Subject:
    """
    What the laws of an experiment speak of.

    Attributes
    ----------
    system, params
        Model of rolling, and its parameters.
    start
        Its state at the start of the scenario.
    source
        From poses and twists to its states.
    used
        Which of the six accelerations of the hand are its controls.
    prepare
        Plans and designs the laws; takes seconds.

    """

    system: RollingSystem
    params: Array
    start: Array
    source: Source
    used: tuple[int, ...]
    prepare: Callable[[], Prepared]

    def limits(self, limits: Array | None) -> Array:
        """Return the greatest magnitudes of its controls, of those of the six accelerations."""
        return np.asarray((MOST if limits is None else np.minimum(limits, MOST))[list(self.used)])

    def widened(self, u: Array) -> Array:
        """Return the six accelerations of the hand of a control of the model."""
        out = np.zeros(6)
        out[list(self.used)] = u
        return out


def subject_of(
    experiment: str,
    model: Model,
    plan_file: str = '',
    predicting: Predicting = lambda law: law,
) -> Subject:
    """
    Return what an experiment moves.

    Parameters
    ----------
    experiment, model
        Name of the experiment, and its scenario.
    plan_file
        The plan that it follows, see :func:`experiment_plan`.
    predicting
        What commands by a predictive law: itself, or one that solves its programs elsewhere.

    Raises
    ------
    ParameterError
        The scenario is none of that experiment, or it follows no plan and one was given.

    """
    if plan_file and experiment not in FOLLOWING:
        raise ParameterError(f'plan_file: {experiment} follows no plan, got {quoted(plan_file)}')
    if experiment in SPATIAL:
        return _spatial(experiment, model)
    laboratory = Laboratory(model.system, model.params)
    system, p = laboratory.model()
    d = model.system.state.unpack(model.start)
    beta = 2.0 * float(np.arctan2(d['q_HO'][2], d['q_HO'][0]))
    start = laboratory.rest(beta, float(d['contact_h'][0]), tuple(d['p_WH'][[0, 2]]))
    return Subject(
        system=system,
        params=p,
        start=start,
        source=ObservedState(*laboratory.plant(), system),
        used=tuple(system.control_index.tolist()),
        prepare=lambda: PLANAR[experiment](
            laboratory,
            lambda: restricted_plan(experiment_plan(model.scenario, plan_file), system),
            predicting,
        ),
    )


def _spatial(experiment: str, model: Model) -> Subject:
    contact_h = model.start[model.system.state.slice('contact_h')]
    return Subject(
        system=model.system,
        params=model.params,
        start=model.start,
        source=StateSource(model.system, model.params, contact_h),
        used=ALL,
        prepare=lambda: SPATIAL[experiment](model.system, model.params),
    )
