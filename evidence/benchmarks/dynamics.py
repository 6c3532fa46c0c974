"""Time of the equations, of plans by number of segments, and of feedback; length of a path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import time

from evidence.benchmarks.plans import aside, hard
from evidence.benchmarks.row import call_time, evaluation_time, Row, timed
from evidence.papers.woodruff_lynch.ball_on_plate import (
    geometric_plans,
    length,
    loop_plan,
    places,
)
import numpy as np
from rolling_controller import OpenLoop, run_batch, TimeVaryingLqr
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, compiles
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere, Surface
from rolling_planner import Plan, plan_rolling, PlanProblem
from rolling_planner.plan import HOLD
from rolling_planner.problem.goal import goal_error

BODIES: dict[str, Surface] = {
    'ball on a plate': Sphere(0.1),
    'ellipsoid on a plate': Ellipsoid(0.12, 0.1, 0.08),
}


def rows() -> Iterator[Row]:
    """Yield the figures."""
    for name, surface in BODIES.items():
        system = ContactSystem(surface, Plane())
        p = system.pack_parameters(mass=0.1, inertia=4e-4)
        rng = np.random.default_rng(0)
        x = rng.normal(size=system.state.size)
        u = rng.normal(size=system.control.size)
        best = evaluation_time(compiled(system.mode.dynamics)[0], x, u, 0.0, p)
        plain_call = partial(system.mode.dynamics, x, u, 0.0, p)
        plain = call_time(plain_call, calls=500, repeats=3)
        yield Row(
            name=f'one evaluation of the dynamics, {name}',
            value=1e6 * best if compiles() else None,
            unit='us',
            goal='at most 1',
            reference=f'the same through a plain CasADi call: {1e6 * plain:.3g} us'
            + ('' if compiles() else '; needs a C compiler'),
        )


def path_length_rows() -> Iterator[Row]:
    """Yield the figures; `rolling reproduce woodruff-lynch --figures` draws them."""
    paths, own = geometric_plans(), length(places(loop_plan()))
    closed, triangle = paths['closed form'], paths['shortest triangle']
    name = 'path on the hand, optimised over closed form'
    against = f'{own:.3g} m beside {closed.length:.3g} m'
    yield Row(name, own / closed.length, goal='at most 1', reference=against)
    yield Row(
        name='path on the hand, optimised over shortest triangle',
        value=own / triangle.length,
        reference=f'{triangle.length:.3g} m; the plan is the one of least control, not of least '
        'length',
    )


SEGMENTS = np.array([25, 50, 100, 200, 400])
LONG_RUNS = 2


def scaling_rows() -> Iterator[Row]:
    """Yield the figures."""
    seconds, iterations = [], []
    for n in SEGMENTS.tolist():
        problem = hard(segments=n, refinements=0)
        plan_rolling(problem)  # warm
        times, plan = timed(partial(plan_rolling, problem), LONG_RUNS)
        seconds.append(min(times))
        iterations.append(plan.report['iterations'])
        name = f'plan hard on {n} segments, CPU time'
        yield Row(name, seconds[-1], 's', reference=f'{iterations[-1]} iterations')
    slope = float(np.polyfit(np.log(SEGMENTS), np.log(seconds), 1)[0])
    each = np.array(seconds) / np.array(iterations)
    yield Row(
        name='planning time against segments, log-log slope',
        value=slope,
        goal='at most 1.2',
        reference=f'of an iteration {np.polyfit(np.log(SEGMENTS), np.log(each), 1)[0]:.3g}',
    )


TRIALS = 20
OFF_POSITION, OFF_ATTITUDE = 3e-3, 0.05  # m, rad
# A held control is worth the planned one in the middle of its step: without that half step the
# open loop would miss by 2 instead of 0.1, whatever the start.
RATE = 1000.0  # Hz


def control_rows() -> Iterator[Row]:
    """Yield one update of a regulator, its design, and closed loop over open loop."""
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
