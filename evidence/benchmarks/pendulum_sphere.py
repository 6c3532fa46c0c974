"""The sphere with a pendulum: simulation, gaits, sequences of gaits, feedback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
import math
import statistics
import time
from typing import Any

from evidence.benchmarks.disturbed_run import follow, random_disturbance
from evidence.benchmarks.row import DURATION, Row, simulated, timed, TOLERANCE
import numpy as np
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.pendulum_sphere import (
    paper_parameters,
    PendulumSphere,
    scales_of,
    SphereParameters,
)
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, gaits_for_speed
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_planner.gait_planner import Circle, GaitProblem, GaitSequence, plan_gaits, Waypoint
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem, Weights
from rolling_planner.refinement.planner import plan_rolling

DISTURBED = 100
SHORTER, SHORTENINGS = 0.85, 6  # ratio of one horizon to the one before, and how many
COURSE = (
    (1.0, 0.3),
    (2.0, -0.3),
    (3.0, 0.4),
    (4.0, 0.0),
    (5.0, 0.5),
    (5.2, 1.5),
    (4.6, 2.4),
    (3.6, 1.8),
    (2.6, 2.4),
    (1.6, 1.9),
    (0.6, 2.5),
    (-0.4, 2.0),
    (-0.9, 1.1),
    (-0.3, 0.5),
    (0.2, 1.1),
    (1.0, 1.0),
    (1.8, 1.1),
)
OBSTACLES = (
    ((1.5, 0.25), 0.12),
    ((2.5, 0.6), 0.2),
    ((4.4, 0.9), 0.2),
    ((3.1, 2.7), 0.15),
    ((0.0, 1.6), 0.15),
)


def rows() -> Iterator[Row]:
    """Yield the figures."""
    system, params = PendulumSphere(), paper_parameters()
    raised = [0.3, math.sin(0.5), -math.cos(0.5)]
    seconds, error = simulated(
        system,
        system.pack_parameters(params),
        system.rolling_state(params, velocity=[0.3, 0.1], spin=0.5, pendulum=raised),
        events={'normal_force': 'stop', 'friction': 'record'},
    )
    yield Row(
        name='pendulum sphere, 20 s of free motion',
        value=DURATION / seconds,
        unit='times real time',
        goal='at least 2000',
        reference=f'tolerance {TOLERANCE:g}, {1e3 * seconds:.3g} ms, error {error:.2g}',
    )
    yield _inversion()
    spent, plan = timed(lambda: plan_gaits(course()), 3)
    yield Row(
        name='plan of gaits round five obstacles, CPU time',
        value=statistics.median(spent),
        unit='s',
        goal='at most 2',
        reference=f'{len(plan.steps)} swings, {plan.length:.3g} m in {plan.duration:.3g} s',
    )
    yield from _disturbed(plan)
    yield from _comparison()


def course(params: SphereParameters | None = None, **options: Any) -> GaitProblem:  # noqa: ANN401
    """Return the manoeuvre of twenty swings round five obstacles, with options of its own."""
    return GaitProblem(
        params=params or paper_parameters(),
        start=(0.0, 0.0),
        waypoints=[Waypoint(position=p) for p in COURSE],
        obstacles=[Circle(center=c, radius=r) for c, r in OBSTACLES],
        **options,
    )


def _inversion() -> Row:
    params = paper_parameters()
    scales = scales_of(params)
    spent, roots = [], 0
    for T in (1.0, 2.0, 5.0):
        for change in np.linspace(0.05, 0.7, 14):
            v, period = change * scales.unit('velocity'), T * scales.unit('time')
            once, found = timed(
                partial(gaits_for_speed, params, v, period), clock=time.perf_counter
            )
            spent += once
            roots += len(found)
    return Row(
        name='a gait inverted, all roots within two turns',
        value=1e3 * statistics.median(spent),
        unit='ms',
        goal='at most 5',
        reference=f'median of {len(spent)}, {roots} roots, longest {1e3 * max(spent):.3g} ms',
    )


def _disturbed(plan: GaitSequence) -> Iterator[Row]:
    runs = [follow(plan, random_disturbance(seed)) for seed in range(DISTURBED)]
    share = [r.miss / plan.length for r in runs]
    clear = [
        min(np.hypot(*(r.path - c).T).min() - radius for c, radius in OBSTACLES) for r in runs
    ]
    yield Row(
        name=f'disturbed runs of {DISTURBED} that arrive within 2 % of the path',
        value=float(sum(s < 0.02 for s in share)),
        goal=f'at least {DISTURBED}',
        reference=f'worst {100 * max(share):.3g} %, median {100 * statistics.median(share):.3g} %',
    )
    yield Row(
        name='disturbed runs that touch no obstacle',
        value=float(sum(c > plan.params.shell_radius for c in clear)),
        reference=f'greatest friction {max(r.friction for r in runs):.3g} of '
        f'{plan.params.mu:g}, least normal force {min(r.least_normal_force for r in runs):.3g} N',
    )


def _comparison() -> Iterator[Row]:
    problem = GaitProblem(
        params=paper_parameters(),
        start=(0, 0),
        waypoints=[Waypoint(position=(0.6, 0.8))],
        limits=GaitLimits(torque=0.5),
    )
    gaits = plan_gaits(problem)
    efforts = {
        'gaits': gaits.effort(),
        'direct': plan_effort(direct_plan(problem, gaits.duration)),
    }
    with suppress(PlanningError):  # the last horizon is too short
        for k in range(1, SHORTENINGS + 1):
            plan = direct_plan(problem, gaits.duration * SHORTER**k)
            efforts['direct, fastest'] = plan_effort(plan)
    for name, row in efforts.items():
        yield Row(
            name=f'1 m from rest to rest, energy: {name}',
            value=row['energy'],
            unit='J',
            reference=f'time {row["time"]:.3g} s, torque {row["peak_torque"]:.3g} N m, '
            f'friction {row["friction"]:.3g}',
        )


def direct_plan(problem: GaitProblem, horizon: float) -> Plan:
    """
    Return a plan by collocation to the only waypoint, within the limits of the gaits.

    Obstacles are not regarded.
    """
    system, limits = PendulumSphere(), problem.planning_limits
    p = system.pack_parameters(problem.params)
    p[system.parameters.slice('mu')] = limits.friction or problem.params.mu
    (waypoint,) = problem.waypoints
    return plan_rolling(
        PlanProblem(
            system=system,
            p=p,
            x_start=system.rolling_state(problem.params, contact=problem.start),
            goal={'contact': waypoint.position},
            horizon=horizon,
            control_limits=limits.torque / math.sqrt(2),
            segments=30,
            refinements=3,
            normal_force_min=limits.normal_force,
            weights=Weights(control=1.0),
            goal_tolerance=waypoint.tolerance / 10,
        )
    )


def plan_effort(plan: Plan) -> dict[str, float]:
    """Return time, energy of the drive, peak torque and friction of a plan."""
    Omega, omega = (plan.states[:, STATE.slice(name)] for name in ('w_WS_W', 'w_WP_W'))
    power = np.abs((plan.controls * (omega - Omega)).sum(axis=1))
    force = plan.contact_wrenches[:, 3:]
    return {
        'time': plan.duration,
        'energy': float(np.trapezoid(power, plan.times)),
        'peak_torque': float(np.linalg.norm(plan.controls, axis=1).max()),
        'friction': float((np.hypot(force[:, 0], force[:, 1]) / force[:, 2]).max()),
    }
