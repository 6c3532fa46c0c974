"""Feedback along the plan that needs a loop: one update, its design, closed beside open loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import time

from evidence.benchmarks.plans import aside, hard
from evidence.benchmarks.row import call_time, Row, timed
import numpy as np
from rolling_controller import OpenLoop, run_batch, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_planner import Plan, plan_rolling, PlanProblem
from rolling_planner.plan import HOLD
from rolling_planner.problem.goal import goal_error

TRIALS = 20
OFF_POSITION, OFF_ATTITUDE = 3e-3, 0.05  # m, rad
# A held control is worth the planned one in the middle of its step: without that half step the
# open loop would miss by 2 instead of 0.1, whatever the start.
RATE = 1000.0  # Hz


def rows() -> Iterator[Row]:
    """Yield the figures."""
    problem = hard()
    plan = plan_rolling(problem)
    design = partial(TimeVaryingLqr, problem.system, problem.p, plan, control_limits=50.0)
    (spent,), lqr = timed(design)
    name = 'design of the feedback along a plan of 2 s'
    yield Row(name, spent, 'CPU s', reference=f'{len(lqr.times)} gains')
    x = problem.x_start
    update = call_time(lambda: lqr.step(None, x, 1.2345), repeats=5, clock=time.process_time)
    name = 'one LQR update with interpolation and limits'
    yield Row(name, 1e6 * update, 'us', 'at most 10', 'period of the loop: 1000 us')
    ratios, worst = _ratios(problem, lqr)
    name = f'open over closed loop, least of {TRIALS} starts 3 mm and 0.05 rad off'
    against = f'median {np.median(ratios):.3g}; greatest closed-loop error {worst:.3g}'
    yield Row(name, float(ratios.min()), goal='at least 20', reference=against)


def _ratios(problem: PlanProblem, lqr: TimeVaryingLqr) -> tuple[Array, float]:
    """Return open over closed error of every trial, and the greatest closed-loop error."""
    system, rng, starts = problem.system, np.random.default_rng(0), []
    for _ in range(TRIALS):
        d = aside(system, rng, OFF_POSITION, OFF_ATTITUDE)
        starts.append(np.array(system.retract(problem.x_start, d)).ravel())
    times = np.arange(round(problem.horizon * RATE) + 1) / RATE
    nominal = [lqr.nominal(t + 0.5 / RATE) for t in times]
    states, controls = (np.array(rows) for rows in zip(*nominal, strict=True))
    played = Plan.of(system, times=times, states=states, controls=controls, interpolation=HOLD)
    ends = (
        run_batch(system, problem.p, starts, law, problem.horizon, rate=RATE).states[-1]
        for law in (OpenLoop(system, played), lqr)
    )
    opened, closed = (np.array([goal_error(problem, x) for x in each]) for each in ends)
    return opened / closed, float(closed.max())
