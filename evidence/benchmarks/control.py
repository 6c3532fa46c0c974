"""Feedback along the plan that needs a loop: one update, its design, closed beside open loop."""

from __future__ import annotations

from collections.abc import Iterator
import time
import timeit

from evidence.benchmarks.plans import hard
from evidence.benchmarks.row import Row
import numpy as np
from rolling_controller import run_lockstep, StateFeedback, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_planner import plan_rolling, PlanProblem
from rolling_planner.problem.goal import goal_error

CALLS, REPEATS = 10_000, 5
TRIALS = 20
OFF_POSITION, OFF_ATTITUDE = 3e-3, 0.05  # m, rad
# A held control is worth the planned one in the middle of its step: without that half step the
# open loop would miss by 2 instead of 0.1, whatever the start.
RATE = 1000.0  # Hz


def rows() -> Iterator[Row]:
    """Yield the figures."""
    problem = hard()
    plan = plan_rolling(problem)
    start = time.process_time()
    lqr = TimeVaryingLqr(problem.system, problem.p, plan, control_limits=50.0)
    yield Row(
        name='design of the feedback along a plan of 2 s',
        value=time.process_time() - start,
        unit='CPU s',
        reference=f'{len(lqr.times)} gains',
    )
    x = problem.x_start
    update = min(
        timeit.repeat(
            lambda: lqr.step(None, x, 1.2345),
            timer=time.process_time,
            number=CALLS,
            repeat=REPEATS,
        )
    )
    yield Row(
        name='one LQR update with interpolation and limits',
        value=1e6 * update / CALLS,
        unit='us',
        goal='at most 10',
        reference='period of the loop: 1000 us',
    )
    ratios, worst = _ratios(problem, lqr)
    yield Row(
        name=f'open over closed loop, least of {TRIALS} starts 3 mm and 0.05 rad off',
        value=float(ratios.min()),
        goal='at least 20',
        reference=f'median {np.median(ratios):.3g}; greatest closed-loop error {worst:.3g}',
    )


def _ratios(problem: PlanProblem, lqr: TimeVaryingLqr) -> tuple[Array, float]:
    """Return open over closed error of every trial, and the greatest closed-loop error."""
    system, rng = problem.system, np.random.default_rng(0)
    out, worst = [], 0.0
    for _ in range(TRIALS):
        d = np.zeros(system.tangent.size)
        for name, size in (('contact_h', OFF_POSITION), ('d_HO', OFF_ATTITUDE)):
            where = system.tangent.slice(name)
            direction = rng.normal(size=where.stop - where.start)
            d[where] = size * direction / np.linalg.norm(direction)
        x = np.array(system.retract(problem.x_start, d)).ravel()
        errors = [
            goal_error(
                problem,
                run_lockstep(system, problem.p, x, law, problem.horizon, rate=RATE).states[-1],
            )
            for law in (
                StateFeedback(system, lambda t, _: lqr.nominal(t + 0.5 / RATE)[1]),
                lqr,
            )
        ]
        out.append(errors[0] / errors[1])
        worst = max(worst, errors[1])
    return np.array(out), worst
