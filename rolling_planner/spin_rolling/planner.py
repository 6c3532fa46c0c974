"""Plans for the sphere that rolls and spins: geometric, shortened, timed from rest to rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.attitudes import quaternions
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.spin_rolling_sphere import SpinRollingSphere
from rolling_planner.errors import PlanningTimeoutError
from rolling_planner.plan import Plan
from rolling_planner.progress import Iteration, Report, Watch
from rolling_planner.spin_rolling.confined_rolling import plan_confined
from rolling_planner.spin_rolling.elastica import BATCH, Extremal, extremals_by_length
from rolling_planner.spin_rolling.extremal_end import WAVES
from rolling_planner.spin_rolling.extremal_motion import timed_extremal
from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import Contact, goal_error, Motion
from rolling_planner.spin_rolling.problem import contact_of_attitude, SpinRollingProblem
from rolling_planner.spin_rolling.pure_rolling import plan_closed_form
from rolling_planner.spin_rolling.region import ContactRegion
from rolling_planner.spin_rolling.timing import timed, TimedMotion
from rolling_planner.spin_rolling.vectors import angle_between, unit
from transforms3d.quaternions import mat2quat

ROUNDS = 3  # of shootings, until one hits
TRIED = 8  # extremals, the shortest first, until one stays off the poles
BEND = (0.02, 0.06)  # amplitudes of the waves that lead an extremal around a pole [rad]
FIT = 1e-6  # slack of samples of an extremal at the edge of the region [rad], [m]


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
    motion, report = _timed(problem, Watch(on_iteration, time_budget))
    end = contact_of_attitude(motion.contacts[-1], motion.attitudes[-1])
    report |= {
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


def _timed(problem: SpinRollingProblem, watch: Watch) -> tuple[TimedMotion, dict[str, Any]]:
    if problem.mode == 'pure_rolling' and problem.optimise:
        found = _shortened(problem, watch)
        if found is not None:
            motion, extremal = found
            length = extremal.length * problem.radius
            return motion, {'method': 'elastica', 'length': length, 'spin': 0.0}
    _report(watch, 0, 0)
    name, path = _polylines(problem) if problem.mode == 'spin_rolling' else _without_spin(problem)
    _report(watch, 1, len(path.turns), path.length)
    report = {'method': name, 'length': path.length, 'spin': path.spin, 'turns': len(path.turns)}
    return timed(path, problem.bounds), report


def _without_spin(problem: SpinRollingProblem) -> tuple[str, Motion]:
    """Return the shorter of the motions in closed form that stay in the region, and its name."""
    given = (problem.radius, problem.start, problem.goal, problem.region)
    if not problem.region.is_bounded:
        return 'closed form', plan_closed_form(*given)
    loops = plan_confined(*given)
    with suppress(PlanningError):
        wide = plan_closed_form(*given)
        if wide.length < loops.length:
            return 'closed form', wide
    return 'rolls and loops', loops


def _polylines(problem: SpinRollingProblem) -> tuple[str, Motion]:
    """Return the geometric plan; optimised, the fold that is shortest and spins least."""
    signs = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)][: 4 if problem.optimise else 1]
    found = [
        plan_geometric(problem.radius, problem.start, problem.goal, problem.region, pair)
        for pair in signs
    ]
    shortest = min(m.length for m in found) * (1 + 1e-9)
    return 'polylines', min((m for m in found if m.length <= shortest), key=lambda m: m.spin)


def _shortened(problem: SpinRollingProblem, watch: Watch) -> tuple[TimedMotion, Extremal] | None:
    """Return the shortest extremal that stays in the region and off the poles, None if none."""
    a, b, r = problem.start, problem.goal, problem.radius
    quaternion = mat2quat(np.array(b.R_SO) @ np.array(a.R_SO).T)
    shots = BATCH * -(-problem.shots // BATCH)
    displacement = np.array([b.u_s - a.u_s, b.v_s - a.v_s]) / r
    for more in range(1 if problem.region.is_bounded else ROUNDS):
        _report(watch, more, 0)
        candidates = extremals_by_length(
            displacement, quaternion, shots=shots, seed=problem.seed + 1000 * more
        )
        for extremal in candidates[:TRIED]:
            for waves in _bends(problem.region):
                _report(watch, more, 1, extremal.length * r)
                found = timed_extremal(extremal, r, a, b, problem.bounds, waves)
                if found is not None and stays(found[0], problem.region, (a, b)):
                    return found
    return None


def _report(watch: Watch, number: int, turns: int, length: float = math.nan) -> None:
    """Report a path of a length [m]; raise CancelledError or PlanningTimeoutError if no more."""
    watch.report(Iteration(number, turns, length, math.nan, math.nan))
    if watch.expired:
        raise PlanningTimeoutError(
            'no plan within the time budget: it was spent on the search for a short path; give '
            'more time, or fewer shots'
        )


def _bends(region: ContactRegion) -> Iterator[NDArray[np.float64]]:
    """Yield bends of an extremal, none first; they lead it around a pole of the chart."""
    yield np.zeros(WAVES)
    if not region.is_bounded:
        for size in BEND:
            for wave in np.eye(WAVES):
                yield from (size * wave, -size * wave)


def stays(motion: TimedMotion, region: ContactRegion, ends: tuple[Contact, Contact]) -> bool:
    """Tell whether the nodes of a motion stay in a region and off the poles."""
    margin = min(r for _, r in region.keep_out([c.normal for c in ends])[:2])
    if np.min(pole_distances(motion)) < margin:
        return False
    if not region.is_bounded:
        return True
    if not all(region.holds_point(c) for c in motion.contacts):
        return False
    axis = unit(region.axis)
    return all(
        angle_between(axis, tuple(-R[2])) <= region.half_angle + FIT for R in motion.attitudes
    )


def pole_distances(motion: TimedMotion) -> NDArray[np.float64]:
    """
    Return the angle from the contact on the sphere to the nearest pole [rad].

    Shape (nodes,).
    """
    n = motion.attitudes[:, 2, :]
    return np.arctan2(np.hypot(n[:, 0], n[:, 2]), np.abs(n[:, 1]))
