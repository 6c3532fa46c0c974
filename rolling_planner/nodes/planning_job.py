"""What the planner's worker process does: plan, or check a hand trajectory; imports no ROS."""

from __future__ import annotations

from collections.abc import Mapping
import time
from typing import Any, cast, TYPE_CHECKING

import numpy as np
from rolling_dynamics.contract.capabilities import CarriedObject, offers
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_planner.errors import PlanningTimeoutError
from rolling_planner.nodes.jobs.system_planner import planning_model, Report

if TYPE_CHECKING:
    from rolling_dynamics.contact import ContactSystem


def work(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """
    Do one job.

    Parameters
    ----------
    job
        ``kind``: ``plan`` or ``check``; ``scenario_file``; ``start``, a state. To plan: ``goal``
        (values by entry or scalar name), ``horizon`` [s], ``method`` (empty for the default),
        ``options`` (the node's parameters of planning), ``waypoints`` (k, 3) [m] and ``keep_out``
        (k, 3): x, y, radius [m]. To check: ``trajectory``, samples of the hand by name, and
        ``time_budget`` [s].
    report
        Called with progress; False cancels.

    Returns
    -------
    dict
        ``plan`` and ``bodies``; or ``ok``, ``margins``, ``first_failure_time``, ``reason``.

    Raises
    ------
    RollingError
        There is no plan, or the job makes no sense; the text says what would do.

    """
    return {'plan': _plan, 'check': _check}[job['kind']](job, report)


def warm_up(job: Mapping[str, Any]) -> None:
    """Load the scenario and compile what a plan needs, before the first goal comes."""
    model = planning_model(job['scenario_file'])
    model.planner.warm_up(model, job)


work.warm_up = warm_up  # the worker looks there


def _plan(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    model = planning_model(job['scenario_file'])

    def checked(progress: Mapping[str, Any]) -> bool:
        if not report(progress):
            raise CancelledError('planning was cancelled')
        return True

    plan = model.planner.plan(model, job, checked)
    return {'plan': plan, 'bodies': model.planner.bodies(model, plan)}


def _check(job: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Simulate the object on a hand that follows a trajectory, and judge the contact."""
    from rolling_planner.check_plan import check_hand_trajectory  # noqa: PLC0415  rarely needed

    model = planning_model(job['scenario_file'])
    system = model.system
    if offers(system, CarriedObject) is None:
        raise ParameterError(
            f'check_plan is for an object on a hand (system contact), this planner runs '
            f'{system.name}'
        )
    budget = job['time_budget']
    deadline = time.monotonic() + budget
    try:
        found = check_hand_trajectory(
            cast('ContactSystem', system),
            model.params,
            np.asarray(job['start'], dtype=float),
            **job['trajectory'],
            on_progress=lambda _: report({}) and time.monotonic() < deadline,
        )
    except CancelledError:
        if time.monotonic() < deadline:
            raise
        raise PlanningTimeoutError(
            f'not checked within the time budget of {budget:g} s; send fewer points or raise '
            'time_budget'
        ) from None
    return {
        'ok': found.ok,
        'margins': found.margins,
        'first_failure_time': found.first_failure_time,
        'reason': found.reason,
    }
