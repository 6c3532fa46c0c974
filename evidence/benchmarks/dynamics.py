"""Time of the equations of motion and of plans by number of segments; length of a path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from evidence.benchmarks.plans import hard
from evidence.benchmarks.row import call_time, evaluation_time, Row, timed
from evidence.papers.woodruff_lynch.ball_on_plate import (
    geometric_plans,
    length,
    loop_plan,
    places,
)
import numpy as np
from rolling_dynamics.compiled import compiled, compiles
from rolling_dynamics.contact.contact_system import ContactSystem
from rolling_dynamics.surfaces import Ellipsoid, Plane, Sphere, Surface
from rolling_planner import plan_rolling

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
