"""
Plans for the sphere that rolls and spins: a path in closed form, timed from rest to rest.

The control is the angular velocity w_SO_S, linear between nodes; the rolling rate delta follows a
trapezoid. Each rotation starts and ends at rest, so the controls of neighbouring nodes are
parallel: between them the sphere rotates about one axis, by the integral of its rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
import time
from typing import Any, get_args

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError, ScenarioError
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere.system import SpinRollingSphere
from rolling_planner.plan import Plan
from rolling_planner.planners.planner import Planned, Request, scalar_values, SystemPlanner
from rolling_planner.progress import (
    InfeasibleError,
    Iteration,
    NotConvergedError,
    PlanningTimeoutError,
    Report,
    Watch,
)
from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import (
    Contact,
    contact_after,
    contact_of_attitude,
    goal_error,
    InputBounds,
    Mode,
    Motion,
    read_spin_rolling_problem,
    seconds_per_turn,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling
from scipy.spatial.transform import Rotation
from transforms3d.quaternions import quat2mat

RAMP = 0.25  # fraction of a rotation's time in which its rate rises, and falls
INSIDE = 9  # nodes of a rotation


def plan_spin_rolling(
    problem: SpinRollingProblem, on_iteration: Report | None = None, time_budget: float = math.inf
) -> Plan:
    """
    Return a plan from rest to rest, controls w_SO_S linear between its times.

    Parameters
    ----------
    problem
        Start, goal, mode, region and bounds.
    on_iteration
        Called with an :class:`Iteration` for each tested path; False cancels.
    time_budget
        Maximum wall-clock time [s].

    Returns
    -------
    Plan
        Plan for the system ``SpinRollingSphere()``; its report contains method, length, lower
        bound of the length of any path, spin, angle from the poles, goal error and CPU time.

    Raises
    ------
    ParameterError
        The bounds do not allow the mode.
    PlanningError
        No path stays in the region. A PlanningTimeoutError if the time budget was spent.
    CancelledError
        ``on_iteration`` returned False.

    """
    began = time.process_time()
    watch = Watch(on_iteration, time_budget)
    _report(watch, 0, 0)
    method, path = _path(problem)
    _report(watch, 1, len(path.turns), path.length)
    times, controls = timed(path, problem.bounds)
    states, attitudes = propagated(problem, times, controls)
    n = attitudes[:, 2]
    report = {
        'method': method,
        'length': path.length,
        'spin': path.spin,
        'turns': len(path.turns),
        'least_length': least_length(problem.radius, problem.start, problem.goal),
        'pole_distance': float(np.arctan2(np.hypot(n[:, 0], n[:, 2]), np.abs(n[:, 1])).min()),
        'goal_error': goal_error(contact_of_attitude(states[-1, :2], attitudes[-1]), problem.goal),
        'cpu_seconds': time.process_time() - began,
    }
    return Plan.of(
        SpinRollingSphere(), times=times, states=states, controls=controls, report=report
    )


def _path(problem: SpinRollingProblem) -> tuple[str, Motion]:
    """Return the path and its method; if optimised, the fold that is shortest and spins least."""
    given = (problem.radius, problem.start, problem.goal, problem.region)
    if problem.mode == 'pure_rolling':
        return 'rolls and loops', plan_pure_rolling(*given)
    signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)][: 4 if problem.optimise else 1]
    found = [plan_geometric(*given, pair) for pair in signs]
    shortest = min(m.length for m in found) * (1 + 1e-9)
    return 'polylines', min((m for m in found if m.length <= shortest), key=lambda m: m.spin)


def _report(watch: Watch, number: int, turns: int, length: float = math.nan) -> None:
    """Report a path of a length [m]; raise CancelledError or PlanningTimeoutError to stop."""
    watch.report(Iteration(number, turns, length, math.nan, math.nan))
    if watch.expired:
        raise PlanningTimeoutError('no plan within the time budget; give more time')


def trapezoid(t: Array) -> Array:
    """
    Return the rate at times from 0 to 1 of a unit rotation between rests.

    Times are fractions of the duration; the rate has their shape.
    """
    return np.clip(np.minimum(t, 1 - t) / RAMP, 0, 1) / (1 - RAMP)


def timed(motion: Motion, bounds: InputBounds) -> tuple[Array, Array]:
    """Return times and controls of a motion that rests before and after each rotation."""
    radius = motion.radius
    if motion.spin > 0 and not (bounds.gamma_s * radius >= 1 and bounds.alpha_s > 0):
        raise ParameterError(
            f'bounds: spin in place needs gamma_s = 1/R = {1 / radius:g} 1/m and alpha_s; their '
            f'bounds are {bounds.gamma_s:g} and {bounds.alpha_s:g}; use the mode '
            "'pure_rolling'"
        )
    inside = np.linspace(0.0, 1.0, INSIDE)  # with the corners of the trapezoid
    times, controls = [0.0], [np.zeros(3)]
    for w in motion.turns:
        duration = seconds_per_turn(w, radius, bounds) / (1 - RAMP)
        times += list(times[-1] + inside[1:] * duration)
        controls += list(trapezoid(inside)[1:, None] * np.array(w) / duration)
    if len(times) == 1:  # nothing to do: rest for a moment
        times, controls = [0.0, 0.1], [np.zeros(3)] * 2
    return np.array(times), np.array(controls)


def propagated(problem: SpinRollingProblem, times: Array, controls: Array) -> tuple[Array, Array]:
    """Return states and attitudes; controls are linear, neighbouring ones are parallel."""
    radius, start, h = problem.radius, problem.start, np.diff(times)[:, None]
    middle = (controls[1:] + controls[:-1]) / 2
    step = radius * h * np.column_stack([middle[:, 1], -middle[:, 0]])
    first = np.array([[start.u_s, start.v_s]])
    contacts = np.vstack([first, first + np.cumsum(step, axis=0)])
    attitudes = np.empty((len(times), 3, 3))
    attitudes[0] = np.array(start.R_SO)
    for k, matrix in enumerate(Rotation.from_rotvec(middle * h).as_matrix()):
        attitudes[k + 1] = matrix @ attitudes[k]
    return np.column_stack([contacts, quaternions(attitudes)]), attitudes


PAPER = SpinRollingSphere(representation='coordinates').state  # u_s v_s u_o v_o psi
SAME = 1e-9  # s, tolerance of a horizon
TOLERANCE = 1e-9  # tolerance of the goal of a scenario


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

        Region and bounds are those of the scenario, and so is the mode unless a request names one.

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
        """Return the plan; for a request, with its duration and number of samples."""
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
    """Return the contact of a goal; entries that it does not name are as at the start."""
    values = scalar_values(goal, PAPER.entries)
    if 'q_SO' not in goal:
        return contact_after(values, start)
    if turns := [name for name in PAPER.names[2:] if name in values]:
        raise ParameterError(f'goal_names: q_SO and {turns[0]} are redundant; leave one out')
    place = [values.get('u_s', start.u_s), values.get('v_s', start.v_s)]
    return contact_of_attitude(place, quat2mat(unit_quaternion(goal['q_SO'])))


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
    Return a plan slowed down to a given duration; 0 for no change.

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
    """Return a plan with additional samples at a rate [Hz], and the same controls."""
    grid = np.arange(0.0, plan.duration, 1 / rate)
    times = np.unique(np.concatenate([grid, plan.times]))
    times = times[np.append(True, np.diff(times) > SAME)]
    times[-1] = plan.times[-1]
    controls = plan.controls_at(times)
    states, _ = propagated(problem, times, controls)
    return replace(plan, times=times, states=states, controls=controls)


PLANNER = SpinRollingPlanner()
