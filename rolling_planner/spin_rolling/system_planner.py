"""The planner of the sphere that rolls and spins on a plane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere import coordinates_from_attitude, SpinRollingSphere
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import Planned, Request, scalar_values, SystemPlanner
from rolling_planner.progress import InfeasibleError, NotConvergedError, Report
from rolling_planner.spin_rolling import (
    Contact,
    contact_at,
    contact_of_attitude,
    goal_error,
    plan_spin_rolling,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.motion import Mode, read_spin_rolling_problem
from rolling_planner.spin_rolling.planner import propagated
from transforms3d.quaternions import quat2mat

PAPER = SpinRollingSphere(representation='coordinates').state  # u_s v_s u_o v_o psi
SAME = 1e-9  # s, by which a horizon may fall short
TOLERANCE = 1e-9  # of the goal of a scenario


class SpinRollingPlanner(SystemPlanner):
    """See :class:`SystemPlanner`; a goal names u_s v_s u_o v_o psi, or the attitude q_SO."""

    section = SpinRollingProblem
    methods = get_args(Mode)
    finds_duration = True
    lines = {  # noqa: RUF012
        'method': ('method', ''),
        'length': ('length [m]', '.6g'),
        'least_length': ('none is shorter [m]', '.6g'),
        'spin': ('spin [rad]', '.6g'),
        'duration': ('duration [s]', '.6g'),
        'pole_distance': ('from a pole [rad]', '.4g'),
    }

    def check_for_nodes(self, scenario: Scenario) -> None:
        """Raise ParameterError unless the sphere is driven by its angular velocity."""
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

    def goal_entries(self, scenario: Scenario) -> tuple[Entry, ...]:
        """Return the contact coordinates and the attitude."""
        return (*PAPER.entries, scenario.system.state.entry('q_SO'))

    def problem(self, scenario: Scenario, request: Request | None = None) -> SpinRollingProblem:
        """
        Return the problem of the section ``plan``, or of a request.

        Region and bounds are the scenario's, and the mode unless a request names one.

        Raises
        ------
        ParameterError
            The goal contradicts itself, or start or goal lie outside the region.

        """
        if request is None:
            return read_spin_rolling_problem(scenario)
        x = np.asarray(request.start, dtype=float)
        start = contact_of_attitude(x[:2], quat2mat(x[2:6]))
        options: dict[str, Any] = {'mode': request.method} if request.method else {}
        base = (
            read_spin_rolling_problem(scenario)
            if 'plan' in scenario.raw
            else SpinRollingProblem(radius=float(scenario.p[0]), start=start, goal=start)
        )
        return replace(base, start=start, goal=_goal(request.goal, start), **options)

    def plan(
        self, scenario: Scenario, on_iteration: Report, request: Request | None = None
    ) -> Planned:
        """Return the plan; for a request, as slow and with as many samples as it asks for."""
        problem = self.problem(scenario, request)
        if request is None:
            tolerance = TOLERANCE
            try:
                found = plan_spin_rolling(problem, on_iteration)
            except ParameterError as e:
                raise ScenarioError(f'plan.{e}') from None
        else:
            options, tolerance = request.options, request.options['goal_tolerance']
            found = plan_spin_rolling(problem, on_iteration, options['time_budget'])
            missed = found.report['goal_error']
            if not missed <= tolerance:
                raise NotConvergedError(
                    f'no plan: the goal is missed by {missed:.3g} (tolerance {tolerance:g})'
                )
            found = _sampled(at_pace(found, request.horizon), problem, options['sample_rate'])
        system = SpinRollingSphere()

        def error(end: Array) -> float:
            return goal_error(contact_of_attitude(end[:2], system.attitude(end)), problem.goal)

        return Planned(
            scenario=replace(scenario, system=system, x0=found.states[0]),
            plan=found,
            goal_error=error,
            tolerance=tolerance,
        )


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
    """Return a quaternion with norm 1; raise ParameterError if it is far from that."""
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


def _sampled(plan: Plan, problem: SpinRollingProblem, rate: float) -> Plan:
    """Return a plan with samples per second [Hz] beside its own; its controls go as before."""
    grid = np.arange(0.0, plan.duration, 1 / rate)
    times = np.unique(np.concatenate([grid, plan.times]))
    times = times[np.append(True, np.diff(times) > SAME)]
    times[-1] = plan.times[-1]
    controls = plan.controls_at(times)
    fine = propagated(problem.radius, problem.start, times, controls)
    states = np.column_stack([fine.contacts, quaternions(fine.attitudes)])
    return replace(plan, times=times, states=states, controls=controls)


PLANNER = SpinRollingPlanner()
