"""Plan a manoeuvre: a path past the circles, time-optimal speeds, and exact swings."""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import math
import time

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.pendulum_sphere.spatial_swing import swing_for
from rolling_planner.gait_planner.problem import (
    GaitProblem,
    GaitSequence,
    GaitStep,
    PeriodTable,
    Timing,
    VisibilityGraph,
    Waypoint,
)
from rolling_planner.progress import Iteration, PlanningTimeoutError, Report, Watch

SHIFTS = 6  # number of shifts of corners so that the path passes the waypoints
SOLVED = 2  # rounds in which the speeds are optimised again; then they only decrease
CLOSE = 5e-3  # fraction of the shell's radius by which the path may miss a corner
RETRIES = 8
ALTERNATIVES = 8  # other paths past the obstacles that are timed


def plan_gaits(
    problem: GaitProblem, on_iteration: Report | None = None, time_budget: float = math.inf
) -> GaitSequence:
    """
    Return a sequence of gaits through the waypoints, from rest to rest.

    Parameters
    ----------
    problem
        The problem.
    on_iteration
        Called with an :class:`Iteration` for each path and each pass over it; False cancels.
    time_budget
        Maximum wall-clock time [s].

    Returns
    -------
    GaitSequence
        The fastest of the timed sequences whose path keeps clear of obstacles, passes the
        waypoints within their tolerances, and keeps the contact.

    Raises
    ------
    ParameterError
        The problem is not valid.
    PlanningError
        There is no path, or no feasible one; the text gives the reason. A PlanningTimeoutError if
        the time budget was spent.
    CancelledError
        ``on_iteration`` returned False.

    """
    began, watch = time.process_time(), Watch(on_iteration, time_budget)
    table = PeriodTable(problem.params, problem.planning_limits)
    graph = VisibilityGraph(problem.obstacles, problem.keep_off)
    steps: list[GaitStep] = []
    clock, here = 0.0, np.asarray(problem.start, dtype=float)
    paths = 0
    for run in _runs(problem):
        tried = list(_paths(graph, here, run, table, problem.max_speed, watch))
        paths += len(tried)
        found = _first_that_holds(problem, table, run, tried, clock, watch)
        steps += found
        here = np.asarray(run[-1].position, dtype=float)
        clock = (found[-1].end if found else clock) + (run[-1].wait or 0.0)
    report = {'ways': paths, 'cpu_seconds': time.process_time() - began, 'method': 'gaits'}
    if not steps:
        raise PlanningError('every waypoint is the start: there is nothing to plan')
    plan = GaitSequence(
        params=problem.params,
        start=np.asarray(problem.start, dtype=float),
        steps=tuple(steps),
        duration=clock,
        report=report,
    )
    report |= plan.effort(200.0)
    return plan


def _runs(problem: GaitProblem) -> Iterator[list[Waypoint]]:
    """Yield the waypoints between two rests."""
    run: list[Waypoint] = []
    for k, w in enumerate(problem.waypoints):
        run.append(w)
        if w.wait is not None or k == len(problem.waypoints) - 1:
            yield run
            run = []


Path = tuple[Array, list[float]]  # corners and the tolerance at each; nan at a detour


def _paths(
    graph: VisibilityGraph,
    here: Array,
    run: list[Waypoint],
    table: PeriodTable,
    cap: float,
    watch: Watch,
) -> Iterator[Path]:
    """Yield paths through the waypoints, the shortest time first."""
    targets = [here, *(np.asarray(w.position, dtype=float) for w in run)]
    legs = []
    for k, (a, b) in enumerate(itertools.pairwise(targets)):
        best = graph.shortest(a, b)
        if best is None:
            raise PlanningError(
                f'there is no path from ({a[0]:.4g}, {a[1]:.4g}) to waypoint {k} '
                f'({b[0]:.4g}, {b[1]:.4g}): the obstacles close it off for this shell; move one '
                'of them or use a smaller sphere'
            )
        others = [graph.shortest(a, b, frozenset([c])) for c in best[1]]
        legs.append([best[0], *(o[0] for o in others if o is not None)])
    choices = [[0] * len(legs)]
    for k, variants in enumerate(legs):
        choices += [
            [j if i == k else 0 for i in range(len(legs))] for j in range(1, len(variants))
        ]
    paths = [_join([legs[k][j] for k, j in enumerate(choice)], run) for choice in choices]
    lengths = [np.hypot(*np.diff(w[0], axis=0).T).sum() for w in paths]
    near = [paths[k] for k in np.argsort(lengths)[: ALTERNATIVES + 1]]
    timed = []
    for number, path in enumerate(near):
        _report(watch, number, path[0], 'guess')
        timing = Timing(path[0], table, cap, np.ones(len(path[0])))
        timed.append(timing.duration() if timing.solve() else math.inf)
    for k in np.argsort(timed):
        yield near[k]


def _join(legs: list[list[Array]], run: list[Waypoint]) -> Path:
    points, tolerances = [legs[0][0]], [math.nan]
    for leg, w in zip(legs, run, strict=True):
        for p in leg[1:]:
            if np.hypot(*(p - points[-1])) > 1e-9:
                points.append(p)
                tolerances.append(math.nan)
        tolerances[-1] = w.tolerance
    return np.array(points), tolerances


def _first_that_holds(
    problem: GaitProblem,
    table: PeriodTable,
    run: list[Waypoint],
    paths: list[Path],
    clock: float,
    watch: Watch,
) -> list[GaitStep]:
    reason = ''
    for path in paths:
        if len(path[0]) < 2:  # already at the waypoint
            return []
        first = Timing(path[0], table, problem.max_speed, np.ones(len(path[0])))
        if not first.solve():
            reason = 'the legs are too short for any swing'
            continue
        for k in range(RETRIES):
            cap = problem.max_speed if k == 0 else float(first.speeds.max()) * 0.8**k
            steps, reason = _try(problem, table, path, cap, clock, watch)
            if steps:
                return steps
    names = ', '.join(f'({w.position[0]:.4g}, {w.position[1]:.4g})' for w in run)
    raise PlanningError(f'no sequence of gaits through {names}: {reason}')


def _try(
    problem: GaitProblem, table: PeriodTable, path: Path, cap: float, clock: float, watch: Watch
) -> tuple[list[GaitStep], str]:
    """Return the steps along a path under a maximum speed, or why there are none."""
    wanted, tolerances = path
    points, stretch = wanted.copy(), np.ones(len(wanted))
    steps: list[GaitStep] = []
    speeds: Array | None = None
    reason, off = 'the path does not settle on its waypoints', math.nan
    for round_ in range(SHIFTS + RETRIES):
        _report(watch, round_, points, 'optimise', off)
        timing = Timing(points, table, cap, stretch)
        done = timing.solve() if speeds is None or round_ < SOLVED else timing.settle(speeds)
        if not done:
            return [], 'the legs are too short for any swing'
        speeds = timing.speeds
        try:
            steps = _steps(problem, points, timing, clock)
        except ParameterError as e:
            return [], str(e)
        broken = _broken_limits(problem, steps)
        if broken:
            for k in broken:
                stretch[k] *= 1.12
            reason = f'swing {broken[0]} breaks a limit of contact or torque'
            continue
        passed = np.array([s.corner + s.swing.half_displacement for s in steps])
        miss = wanted - passed
        miss[[0, -1]] = 0
        off = float(np.hypot(*miss.T).max())
        if off < CLOSE * problem.params.shell_radius:
            break
        points = points + miss
    else:
        return [], reason
    missed = np.hypot(*miss.T) > np.where(np.isnan(tolerances), np.inf, tolerances)
    if np.any(missed):
        return [], f'a waypoint is missed by {off:.4g} m'
    hit = _collision(problem, steps)
    return ([], hit) if hit else (steps, '')


def _report(watch: Watch, number: int, points: Array, stage: str, off: float = math.nan) -> None:
    """Report a pass over a path; raise CancelledError or PlanningTimeoutError if asked to stop."""
    length = float(np.hypot(*np.diff(points, axis=0).T).sum())
    watch.report(Iteration(number, len(points) - 1, length, off, off, stage))
    if watch.expired:
        raise PlanningTimeoutError(
            f'no plan within the time budget: it was spent on a path of {len(points) - 1} legs; '
            'give more time, or fewer waypoints and obstacles'
        )


def _steps(problem: GaitProblem, points: Array, timing: Timing, clock: float) -> list[GaitStep]:
    periods = timing.periods()
    steps, t = [], clock
    for k, T in enumerate(periods):
        before, after = (np.array(timing.velocity(j)) for j in (k - 1, k))
        swing = swing_for(problem.params, after - before, float(T), problem.limits)
        steps.append(
            GaitStep(
                start=t,
                swing=swing,
                position=points[k] - before * T / 2,
                velocity=before,
            )
        )
        t += float(T)
        if k < len(timing.speeds):
            v = timing.speeds[k]
            t += max(0.0, float(timing.lengths[k] / v - (T + periods[k + 1]) / 2))
    return steps


def _broken_limits(problem: GaitProblem, steps: list[GaitStep]) -> list[int]:
    limits, params = problem.planning_limits, problem.params
    weight = (params.shell_mass + params.pendulum_mass) * params.gravity
    out = []
    for k, step in enumerate(steps):
        table = step.swing.at(np.linspace(0, step.swing.period / 2, 33))
        torque = np.linalg.norm(table.torque, axis=1).max()
        if (
            table.friction > (limits.friction or params.mu)
            or torque > limits.torque
            or table.force[:, 2].min() < limits.normal_force * weight
        ):
            out.append(k)
    return out


def _collision(problem: GaitProblem, steps: list[GaitStep]) -> str:
    """Return the point at which the path is too close to an obstacle; empty if there is none."""
    if not problem.obstacles:
        return ''
    plan = GaitSequence(
        params=problem.params, start=steps[0].position, steps=tuple(steps), duration=steps[-1].end
    )
    t = np.linspace(steps[0].start, steps[-1].end, 60 * len(steps))
    path = plan.reference(t).position
    near = VisibilityGraph(problem.obstacles, problem.keep_off - 0.1 * problem.clearance)
    free = near.free(path)
    if free.all():
        return ''
    x, y = path[int(np.argmin(free))]
    return f'the path comes too near an obstacle at ({x:.4g}, {y:.4g})'
