"""
Plans for the sphere that rolls and spins: a path in closed form, timed from rest to rest.

The control is the angular velocity w_SO_S, linear between nodes; the rolling rate delta rises and
falls along a trapezoid. Each turn starts and ends at rest, so the controls of neighbouring nodes
are parallel: between them the sphere turns about one axis, by the integral of its rate.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.rotations import quaternions
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_planner.plan import Plan
from rolling_planner.progress import Iteration, PlanningTimeoutError, Report, Watch
from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import (
    check_spins,
    Contact,
    contact_of_attitude,
    goal_error,
    InputBounds,
    Motion,
    seconds_per_turn,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling
from scipy.spatial.transform import Rotation

RAMP = 0.25  # fraction of a turn's time in which its rate rises, and falls
INSIDE = 9  # nodes of a turn


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
        Called with an :class:`Iteration` for each path that is tried; False cancels.
    time_budget
        Maximum wall-clock time [s].

    Returns
    -------
    Plan
        For the system ``SpinRollingSphere()``; its report holds method, length, the least length
        that any path needs, spin, angle from the poles, goal error and CPU time.

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
    motion = timed(path, problem.bounds)
    end = contact_of_attitude(motion.contacts[-1], motion.attitudes[-1])
    report = {
        'method': method,
        'length': path.length,
        'spin': path.spin,
        'turns': len(path.turns),
        'least_length': least_length(problem.radius, problem.start, problem.goal),
        'pole_distance': float(np.min(pole_distances(motion))),
        'goal_error': goal_error(end, problem.goal),
        'cpu_seconds': time.process_time() - began,
    }
    return Plan.of(
        SpinRollingSphere(),
        times=motion.times,
        states=np.column_stack([motion.contacts, quaternions(motion.attitudes)]),
        controls=motion.controls,
        report=report,
    )


def _path(problem: SpinRollingProblem) -> tuple[str, Motion]:
    """Return the path and its method; optimised, the fold that is shortest and spins least."""
    given = (problem.radius, problem.start, problem.goal, problem.region)
    if problem.mode == 'pure_rolling':
        return 'rolls and loops', plan_pure_rolling(*given)
    signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)][: 4 if problem.optimise else 1]
    found = [plan_geometric(*given, pair) for pair in signs]
    shortest = min(m.length for m in found) * (1 + 1e-9)
    return 'polylines', min((m for m in found if m.length <= shortest), key=lambda m: m.spin)


def _report(watch: Watch, number: int, turns: int, length: float = math.nan) -> None:
    """Report a path of a length [m]; raise CancelledError or PlanningTimeoutError if no more."""
    watch.report(Iteration(number, turns, length, math.nan, math.nan))
    if watch.expired:
        raise PlanningTimeoutError('no plan within the time budget; give more time')


def pole_distances(motion: TimedMotion) -> Array:
    """
    Return the angle from the contact on the sphere to the nearest pole [rad].

    Shape (nodes,).
    """
    n = motion.attitudes[:, 2, :]
    return np.arctan2(np.hypot(n[:, 0], n[:, 2]), np.abs(n[:, 1]))


class TimedMotion(NamedTuple):
    """Nodes: times (N,) [s], controls (N, 3), contacts (N, 2) [m], attitudes (N, 3, 3)."""

    times: Array
    controls: Array
    contacts: Array
    attitudes: Array


def trapezoid(t: Array) -> Array:
    """
    Return the rate at times from 0 to 1 of a turn that goes from 0 to 1 and rests at both.

    Times are fractions of the whole; the rate has their shape.
    """
    return np.clip(np.minimum(t, 1 - t) / RAMP, 0, 1) / (1 - RAMP)


def trapezoid_nodes(count: int) -> Array:
    """Return fractions from 0 to 1, corners of the trapezoid among them, shape (count,)."""
    t = np.linspace(0, 1, count)
    for corner in (RAMP, 1 - RAMP):
        t[np.argmin(np.abs(t - corner))] = corner
    return t


def timed(motion: Motion, bounds: InputBounds) -> TimedMotion:
    """Return a motion over time, at rest before and after each of its turns."""
    check_spins(motion, bounds)
    inside = trapezoid_nodes(INSIDE)
    times, controls = [0.0], [np.zeros(3)]
    for w in motion.turns:
        duration = seconds_per_turn(w, motion.radius, bounds) / (1 - RAMP)
        rates = trapezoid(inside)[1:, None] * np.array(w) / duration
        times += list(times[-1] + inside[1:] * duration)
        controls += list(rates)
    if len(times) == 1:  # nothing to do: rest for a moment
        times, controls = [0.0, 0.1], [np.zeros(3)] * 2
    return propagated(motion.radius, motion.start, np.array(times), np.array(controls))


def propagated(radius: float, start: Contact, times: Array, controls: Array) -> TimedMotion:
    """Return contacts and attitudes; controls are linear, neighbouring ones are parallel."""
    h = np.diff(times)[:, None]
    middle = (controls[1:] + controls[:-1]) / 2
    step = radius * h * np.column_stack([middle[:, 1], -middle[:, 0]])
    first = np.array([[start.u_s, start.v_s]])
    contacts = np.vstack([first, first + np.cumsum(step, axis=0)])
    attitudes = np.empty((len(times), 3, 3))
    attitudes[0] = np.array(start.R_SO)
    for k, matrix in enumerate(Rotation.from_rotvec(middle * h).as_matrix()):
        attitudes[k + 1] = matrix @ attitudes[k]
    return TimedMotion(times, controls, contacts, attitudes)
