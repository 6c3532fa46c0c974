"""
Plans of the spin-rolling sphere: every goal, time, length against the best that is known.

The pairs are seeded: near and far, each tenth at one place, each hundredth without a turn. The
best known length of pure rolling is that of the shortest extremal of 200 seeded shootings.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import math

from benchmarks.random_contacts import random_pairs, random_pairs_in
from benchmarks.row import Row
from benchmarks.timing import timed
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import PlanningError
from rolling_planner.spin_rolling import (
    Contact,
    contact_at,
    contact_of_attitude,
    ContactRegion,
    goal_error,
    least_length,
    plan_geometric,
    plan_spin_rolling,
    SpinRollingProblem,
)
from rolling_planner.spin_rolling.confined_rolling import plan_confined
from rolling_planner.spin_rolling.elastica import extremals_by_length
from transforms3d.quaternions import quat2mat

RADIUS, PAIRS, BOUNDED, GOALS, SHOTS = 0.3, 10_000, 1_000, 100, 200
REACHED = 1e-9


def rows() -> Iterator[Row]:
    """Yield the figures."""
    yield from _unbounded()
    yield from _in_a_region()
    yield from _pure_rolling()


def _unbounded() -> Iterator[Row]:
    seconds: list[float] = []
    missed, nearest, longer = 0, math.pi, 0
    for start, goal in random_pairs(PAIRS, RADIUS):
        once, motion = timed(partial(plan_geometric, RADIUS, start, goal))
        seconds += once
        missed += goal_error(motion.end, goal) > REACHED
        nearest = min(nearest, motion.pole_distance())
        longer += motion.length > least_length(RADIUS, start, goal) * (1 + 1e-9) + 1e-12
    said = f'{PAIRS} seeded pairs, {longer} longer than the least length (round a pole)'
    yield Row(
        name='spin rolling, goals missed by 1e-9',
        value=missed,
        unit='',
        goal='at most 0',
        reference=said,
    )
    yield Row(
        name='spin rolling, geometric plan, median',
        value=1e3 * float(np.median(seconds)),
        unit='ms',
        goal='at most 1',
        reference='CPU time',
    )
    yield Row(
        name='spin rolling, nearest to a pole',
        value=nearest,
        unit='rad',
        goal='at least 1e-9',
        reference='0.01 rad, less where start or goal are nearer',
    )


def _in_a_region() -> Iterator[Row]:
    region = ContactRegion(
        u_bounds=(-RADIUS, RADIUS), v_bounds=(-RADIUS, RADIUS), half_angle=math.radians(60)
    )
    missed, refused, seconds = 0, 0, []
    for start, goal in random_pairs_in(region, BOUNDED, RADIUS, seed=1):
        motion = plan_geometric(RADIUS, start, goal, region)
        missed += goal_error(motion.end, goal) > REACHED
        once, rolled = timed(partial(_rolled_inside, start, goal, region))
        seconds += once
        refused += not rolled
    yield Row(
        name='spin rolling in a bounded region, goals missed',
        value=missed,
        unit='',
        goal='at most 0',
        reference=f'{BOUNDED} pairs, cap of 60 deg, square of +-R',
    )
    yield Row(
        name='pure rolling in a bounded region, goals refused',
        value=refused,
        unit='',
        reference=f'the same pairs; {1e3 * float(np.median(seconds)):.3g} ms at the median',
    )


def _rolled_inside(start: Contact, goal: Contact, region: ContactRegion) -> bool:
    try:
        return goal_error(plan_confined(RADIUS, start, goal, region).end, goal) <= REACHED
    except PlanningError:
        return False


def _pure_rolling() -> Iterator[Row]:
    ratios, seconds, start = [], [], contact_at([0, 0, 0, 0, 0])
    for place, q in _listed_goals():
        best = extremals_by_length(place, q, shots=SHOTS, seed=99)[0].length * RADIUS
        goal = contact_of_attitude(RADIUS * place, quat2mat(q) @ np.array(start.R_SO))
        problem = SpinRollingProblem(radius=RADIUS, start=start, goal=goal, mode='pure_rolling')
        once, plan = timed(partial(plan_spin_rolling, problem))
        seconds += once
        ratios.append(plan.report['length'] / best)
    yield Row(
        name='pure rolling, optimised plan, median',
        value=float(np.median(seconds)),
        unit='s',
        goal='at most 0.2',
        reference=f'CPU time; longest {max(seconds):.3g} s',
    )
    yield Row(
        name='pure rolling, longer than the best known, at most',
        value=100 * (max(ratios) - 1),
        unit='%',
        goal='at most 2',
        reference=f'best of {SHOTS} seeded shootings of the elastica on {GOALS} goals',
    )


def _listed_goals() -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield displacements [radius] and rotations w, x, y, z."""
    rng = np.random.default_rng(2024)
    for _ in range(GOALS):
        place, q = rng.uniform(-3, 3, 2), rng.normal(size=4)
        yield place, q / np.linalg.norm(q)
