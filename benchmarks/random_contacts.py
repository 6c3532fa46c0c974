"""Seeded starts and goals of a sphere that rolls and spins, for benchmarks and tests."""

from __future__ import annotations

from collections.abc import Iterator
import math

import numpy as np
from rolling_planner.spin_rolling import Contact, contact_at, ContactRegion
from rolling_planner.spin_rolling.motion import angle_between, unit


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
