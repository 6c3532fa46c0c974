"""Jobs of the planner's worker process: plan, or check a plan or a hand trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
import time
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_planner.planners.planner import body_motions, planner_of, Request, SystemPlanner
from rolling_planner.progress import Iteration, PlanningTimeoutError

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

Report = Callable[[Mapping[str, Any]], bool]


@dataclass(frozen=True, eq=False)
class PlanningModel:
    """A scenario, as loaded, and the planner of its system."""

    scenario: Scenario
    planner: SystemPlanner


@lru_cache(maxsize=2)
def planning_model(scenario_file: str) -> PlanningModel:
    """
    Return the model of a scenario file, loaded once.

    Parameters
    ----------
    scenario_file
        A path, or the name of an example.

    Raises
    ------
    ParameterError, ScenarioError
        There is no such file, an entry is wrong, or nodes cannot plan for it.

    """
    scenario = load_scenario(scenario_file)
    planner = planner_of(scenario.system.name)
    planner.check_for_nodes(scenario)
    if 'plan' in scenario.raw:
        planner.problem(scenario)
    return PlanningModel(scenario, planner)


def work(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """
    Do one job.

    Parameters
    ----------
    job
        ``kind``: ``plan`` or ``check``; ``scenario_file``; ``start``, a state. To plan: the fields
        of a :class:`Request`. To check: ``plan``, whose start is used if ``start`` is None, or
        ``trajectory``, samples of the hand by name; and ``time_budget`` [s].
    report
        Called with progress; False cancels.

    Returns
    -------
    dict
        ``plan`` and ``bodies``; or ``ok``, ``margins``, ``first_failure_time``, ``reason``.

    Raises
    ------
    RollingError
        There is no plan, or the job is invalid; the text gives a valid alternative.

    """
    return {'plan': _plan, 'check': _check}[job['kind']](job, report)


def warm_up(job: Mapping[str, Any]) -> None:
    """Load the scenario and compile the functions of a plan, before the first goal arrives."""
    model = planning_model(job['scenario_file'])
    request = _request({**job, 'start': model.scenario.x0, 'goal': {}})
    model.planner.warm_up(model.scenario, request)


work.warm_up = warm_up  # type: ignore[attr-defined]  # read by the worker


def _request(job: Mapping[str, Any]) -> Request:
    return Request(**{f.name: job[f.name] for f in fields(Request) if f.name in job})


def _plan(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    model = planning_model(job['scenario_file'])

    def on_iteration(i: Iteration) -> bool:
        if not report({'iteration': i.number, **vars(i)}):
            raise CancelledError('planning was cancelled')
        return True

    scenario = model.scenario
    plan = model.planner.plan(scenario, on_iteration, _request(job)).plan
    bodies = body_motions(scenario.system, scenario.p, plan.times, plan.states, plan.controls)
    return {'plan': plan, 'bodies': bodies}


def _check(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Simulate a plan, or the object on a hand that follows a trajectory; check the contact."""
    from rolling_planner.check_plan import check_hand_trajectory, check_plan  # noqa: PLC0415

    scenario = planning_model(job['scenario_file']).scenario
    system, start = scenario.system, job['start']
    if 'plan' not in job and offers(system, CarriedObject) is None:
        raise ParameterError(
            f'hand_trajectory is for an object on a hand (system contact), this planner runs '
            f'{system.name}; give a plan'
        )
    budget = job['time_budget']
    deadline = time.monotonic() + budget

    def on_progress(_: float) -> bool:
        return report({}) and time.monotonic() < deadline

    try:
        if 'plan' in job:
            found = check_plan(system, scenario.p, job['plan'], start, on_progress=on_progress)
        else:
            found = check_hand_trajectory(
                cast('ContactSystem', system),
                scenario.p,
                np.asarray(start, dtype=float),
                **job['trajectory'],
                on_progress=on_progress,
            )
    except CancelledError:
        if time.monotonic() < deadline:
            raise
        raise PlanningTimeoutError(
            f'not checked within the time budget of {budget:g} s; send fewer points or raise '
            'time_budget'
        ) from None
    return {name: value for name, value in vars(found).items() if name != 'trajectory'}
