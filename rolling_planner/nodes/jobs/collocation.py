"""Planning by collocation, for every system that has equations of motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner import Plan, plan_rolling, Planner, PlanProblem
from rolling_planner.nodes.jobs.system_planner import PlanningModel, Report, reported
from rolling_planner.problem.scenario import read_problem
from rolling_planner.transcription.collocation import METHODS

LONGEST_HORIZON = 120.0  # s
OPTIONS = (
    'method',
    'segments',
    'refinements',
    'goal_tolerance',
    'normal_force_min',
    'quiet_ends',
    'time_budget',
)


class CollocationPlanner:
    """What the planners by collocation have in common; see :class:`SystemPlanner`."""

    methods = tuple(METHODS)
    finds_duration = False
    has_own_goal = False
    takes_waypoints = False
    takes_keep_out = False

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise ScenarioError unless the section ``plan``, if there is one, is right."""
        base_problem(scenario)

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the entries of the state."""
        return tuple(scenario.system.state.entries)

    def warm_up(self, model: PlanningModel, job: Mapping[str, Any]) -> None:
        """Write out and compile the functions of a plan."""
        Planner(planning_problem(model, {**job, 'start': model.start, 'goal': {}}))

    def plan(self, model: PlanningModel, job: Mapping[str, Any], report: Report) -> Plan:
        """Return the plan of a job."""
        return plan_rolling(planning_problem(model, job), reported(report))


def planning_problem(model: PlanningModel, job: Mapping[str, Any]) -> PlanProblem:
    """
    Return the problem of a job.

    Parameters
    ----------
    model
        System, parameters and section ``plan``.
    job
        See :func:`rolling_planner.nodes.planning_job.work`; its options go over those of the
        scenario's section ``plan``.

    Raises
    ------
    ParameterError
        An entry is not allowed.

    """
    if not job['horizon'] <= LONGEST_HORIZON:
        raise ParameterError(
            f'horizon must be at most {LONGEST_HORIZON:g} s, got {job["horizon"]:g}'
        )
    options = {name: job['options'][name] for name in OPTIONS}
    if job['method']:
        options['method'] = job['method']
    return replace(
        base_problem(model.scenario),
        x_start=np.asarray(job['start'], dtype=float),
        goal=job['goal'],
        horizon=job['horizon'],
        **options,
    )


@lru_cache(maxsize=2)
def base_problem(scenario: Scenario) -> PlanProblem:
    """Return the problem of a scenario's section ``plan``; every control is used without one."""
    if 'plan' in scenario.raw:
        return read_problem(scenario)
    names = scenario.system.control.names
    limits = scenario.control_limits
    return PlanProblem(
        system=scenario.system,
        p=scenario.p,
        x_start=scenario.x0,
        goal={},
        horizon=scenario.duration,
        active_controls=list(names),
        control_limits={
            name: (-float(high), float(high))
            for name, high in zip(names, limits, strict=True)
            if np.isfinite(high)
        },
    )
