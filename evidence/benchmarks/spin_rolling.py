"""Plans of the spin-rolling sphere between random contacts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
import math

from evidence.benchmarks.row import Row, timed
import numpy as np
from rolling_dynamics.errors import PlanningError
from rolling_planner.spin_rolling.geometric import least_length, plan_geometric
from rolling_planner.spin_rolling.motion import (
    angle_between,
    Contact,
    contact_at,
    ContactRegion,
    goal_error,
    unit,
)
from rolling_planner.spin_rolling.pure_rolling import plan_pure_rolling


def random_contact(rng: np.random.Generator, size: float) -> Contact:
    """Return a contact, uniform on the square of +-size [m] and over all attitudes."""
    return contact_at(
        [
            *rng.uniform(-size, size, 2),
            rng.uniform(-math.pi, math.pi),
            math.asin(rng.uniform(-1, 1)),
            rng.uniform(-math.pi, math.pi),
        ]
    )


def random_pairs(count: int, radius: float, seed: int = 0) -> Iterator[tuple[Contact, Contact]]:
    """Yield starts and goals near and far; each 10th at one place, each 100th not turned."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        size = radius * (0.2, 3.0, 10.0)[k % 3]
        start, goal = random_contact(rng, size), random_contact(rng, size)
        if k % 10 == 0:
            goal = Contact(start.u_s, start.v_s, goal.R_SO)
        if k % 100 == 1:
            goal = Contact(goal.u_s, goal.v_s, start.R_SO)
        yield start, goal


def random_pairs_in(
    region: ContactRegion, count: int, size: float, seed: int = 0
) -> Iterator[tuple[Contact, Contact]]:
    """Yield starts and goals in a region, on the square of +-size [m]."""
    rng, axis = np.random.default_rng(seed), unit(region.axis)

    def draw() -> Contact:
        while True:
            contact = random_contact(rng, size)
            if angle_between(axis, contact.normal) < region.half_angle:
                return contact

    for _ in range(count):
        yield draw(), draw()


RADIUS, PAIRS, BOUNDED = 0.3, 10_000, 1_000
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
    yield Row('spin rolling, goals missed by 1e-9', missed, goal='at most 0', reference=said)
    name = 'spin rolling, geometric plan, median'
    yield Row(name, 1e3 * float(np.median(seconds)), 'ms', 'at most 1', 'CPU time')
    against = '0.01 rad, less where start or goal are nearer'
    yield Row('spin rolling, nearest to a pole', nearest, 'rad', 'at least 1e-9', against)


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
    name = 'spin rolling in a bounded region, goals missed'
    against = f'{BOUNDED} pairs, cap of 60 deg, square of +-R'
    yield Row(name, missed, goal='at most 0', reference=against)
    against = f'the same pairs; {1e3 * float(np.median(seconds)):.3g} ms at the median'
    yield Row('pure rolling in a bounded region, goals refused', refused, reference=against)


def _rolled_inside(start: Contact, goal: Contact, region: ContactRegion) -> bool:
    try:
        return goal_error(plan_pure_rolling(RADIUS, start, goal, region).end, goal) <= REACHED
    except PlanningError:
        return False


def _pure_rolling() -> Iterator[Row]:
    ratios, seconds = [], []
    for start, goal in random_pairs(BOUNDED, RADIUS):
        once, motion = timed(partial(plan_pure_rolling, RADIUS, start, goal))
        seconds += once
        if goal_error(motion.end, goal) <= REACHED:
            ratios.append(motion.length / max(least_length(RADIUS, start, goal), RADIUS))
    name = 'pure rolling, goals missed by 1e-9'
    against = f'{BOUNDED} seeded pairs; median {1e3 * float(np.median(seconds)):.3g} ms'
    yield Row(name, BOUNDED - len(ratios), goal='at most 0', reference=against)
    name = 'pure rolling, length over the least length, median'
    against = 'of a path that may spin, at least one radius'
    yield Row(name, float(np.median(ratios)), reference=against)
