"""Plans of the sphere that rolls and spins on a plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere import coordinates_from_attitude, SpinRollingSphere
from rolling_planner.errors import InfeasibleError, NotConvergedError
from rolling_planner.nodes.jobs.body_motion import body_motion
from rolling_planner.nodes.jobs.system_planner import (
    Bodies,
    PlanningModel,
    Report,
    reported,
    ROBOT_STATE,
    scalar_values,
)
from rolling_planner.plan import Plan
from rolling_planner.spin_rolling import (
    Contact,
    contact_at,
    contact_of_attitude,
    plan_spin_rolling,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.planner import quaternions
from rolling_planner.spin_rolling.problem import MODES
from rolling_planner.spin_rolling.scenario import read_spin_rolling_problem
from rolling_planner.spin_rolling.timing import propagated
from transforms3d.quaternions import quat2mat

Array = NDArray[np.float64]
PAPER = SpinRollingSphere(representation='coordinates').state  # u_s v_s u_o v_o psi
SAME = 1e-9  # s, by which a horizon may fall short


class SpinRollingPlanner:
    """See :class:`SystemPlanner`; a goal names u_s v_s u_o v_o psi, or the attitude q_SO."""

    methods = MODES
    finds_duration = True
    has_own_goal = False
    takes_waypoints = False
    takes_keep_out = False
    state_stream = ROBOT_STATE
    bodies_named = ('object',)

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise RollingError unless the sphere is driven by its angular velocity."""
        system, wanted = scenario.system, SpinRollingSphere()
        if (system.state.names, system.control.names) != (
            wanted.state.names,
            wanted.control.names,
        ):
            raise ParameterError(
                'inputs must be angular_velocity and representation attitude: plans are angular '
                f'velocities of an attitude; got the state {", ".join(system.state.names)} and '
                f'the control {", ".join(system.control.names)}'
            )
        base_problem(scenario)

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the contact coordinates and the attitude."""
        return (*PAPER.entries, scenario.system.state.entry('q_SO'))

    def warm_up(self, model: PlanningModel, job: Mapping[str, Any]) -> None:
        """Compute nothing: there is nothing to compile."""

    def plan(self, model: PlanningModel, job: Mapping[str, Any], report: Report) -> Plan:
        """Return the plan of a job."""
        problem = spin_rolling_problem(model, job)
        plan = plan_spin_rolling(problem, reported(report), job['options']['time_budget'])
        error, tolerance = plan.report['goal_error'], job['options']['goal_tolerance']
        if not error <= tolerance:
            raise NotConvergedError(
                f'no plan: the goal is missed by {error:.3g} (tolerance {tolerance:g})'
            )
        slowed = at_pace(plan, job['horizon'])
        return sampled(slowed, problem, job['options']['sample_rate'])

    def bodies(self, model: PlanningModel, plan: Plan) -> Bodies:
        """Return the motion of the sphere."""
        return {'object': body_motion(model.system, model.params, plan, 'object')}


def spin_rolling_problem(model: PlanningModel, job: Mapping[str, Any]) -> SpinRollingProblem:
    """
    Return the problem of a job; region, bounds and mode are those of the scenario.

    Raises
    ------
    ParameterError
        The goal contradicts itself, or start or goal lie outside the region.

    """
    x = np.asarray(job['start'], dtype=float)
    start = contact_of_attitude(x[:2], quat2mat(x[2:6]))
    options = {'mode': job['method']} if job['method'] else {}
    return replace(
        base_problem(model.scenario), start=start, goal=_goal(job['goal'], start), **options
    )


def base_problem(scenario: Scenario) -> SpinRollingProblem:
    """Return the problem of a scenario; without a section ``plan``, with the start as goal."""
    if 'plan' in scenario.raw:
        return read_spin_rolling_problem(scenario)
    here = contact_of_attitude(scenario.x0[:2], quat2mat(scenario.x0[2:6]))
    return SpinRollingProblem(radius=float(scenario.p[0]), start=here, goal=here)


def _goal(goal: Mapping[str, Any], start: Contact) -> Contact:
    """Return the contact of a goal; what it does not name is as at the start."""
    values = scalar_values(goal, PAPER.entries)
    place = [values.get('u_s', start.u_s), values.get('v_s', start.v_s)]
    turns = [name for name in PAPER.names[2:] if name in values]
    if 'q_SO' in goal:
        if turns:
            raise ParameterError(f'goal_names: q_SO and {turns[0]} say the same; leave one out')
        return contact_of_attitude(place, quat2mat(unit_quaternion(goal['q_SO'])))
    if not turns:
        return Contact(place[0], place[1], start.R_SO)
    here = dict.fromkeys(PAPER.names[2:], 0.0)
    if len(turns) < len(here):  # the coordinates of the start are not defined at a pole
        at = coordinates_from_attitude(np.array(start.R_SO))
        here = dict(zip(here, map(float, at), strict=True))
    return contact_at([*place, *(values.get(name, here[name]) for name in here)])


def unit_quaternion(q: Array) -> Array:
    """Return q with norm 1; raise ParameterError if it is far from that."""
    norm = float(np.linalg.norm(q))
    if not abs(norm - 1) < 1e-3:
        raise ParameterError(
            f'goal_values: q_SO must be a unit quaternion, its norm is {norm:.6g}'
        )
    return np.asarray(q, dtype=float) / norm


def at_pace(plan: Plan, horizon: float) -> Plan:
    """
    Return a plan that takes a given time, slowed down as a whole; 0 leaves it as it is.

    Raises
    ------
    InfeasibleError
        The bounds do not allow it in that time.

    """
    if horizon == 0:
        return plan
    least = plan.duration
    if not horizon >= least - SAME:
        raise InfeasibleError(
            f'no plan: the motion takes {least:.4g} s within the bounds, horizon allows '
            f'{horizon:g} s; give a longer horizon, 0 for the shortest, or a larger bound of delta'
        )
    slower = horizon / least
    return replace(plan, times=plan.times * slower, controls=plan.controls / slower)


def sampled(plan: Plan, problem: SpinRollingProblem, rate: float) -> Plan:
    """Return a plan with samples a second [Hz] beside its own; its controls go as before."""
    grid = np.arange(0.0, plan.duration, 1 / rate)
    times = np.unique(np.concatenate([grid, plan.times]))
    times = times[np.append(True, np.diff(times) > SAME)]
    times[-1] = plan.times[-1]
    controls = plan.controls_at(times)
    fine = propagated(problem.radius, problem.start, times, controls)
    states = np.column_stack([fine.contacts, quaternions(fine.attitudes)])
    return replace(plan, times=times, states=states, controls=controls)


PLANNER = SpinRollingPlanner()
