"""Seeded starts and goals."""

import math

import numpy as np
from rolling_planner.spin_rolling import Contact, contact_at
from rolling_planner.spin_rolling.vectors import angle_between, unit


def random_contact(rng, size):
    """Return a contact, uniform on the square of +-size and over all attitudes."""
    return contact_at(
        [
            *rng.uniform(-size, size, 2),
            rng.uniform(-np.pi, np.pi),
            math.asin(rng.uniform(-1, 1)),
            rng.uniform(-np.pi, np.pi),
        ]
    )


def random_pairs(count, radius, seed=0):
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


def random_pairs_in(region, count, size, seed=0):
    """Yield starts and goals in a region."""
    rng, axis = np.random.default_rng(seed), unit(region.axis)

    def draw():
        while True:
            contact = random_contact(rng, size)
            if angle_between(axis, contact.normal) < region.half_angle:
                return contact

    for _ in range(count):
        yield draw(), draw()


def from_pole(contact):
    """Return the angle from the contact on the sphere to the nearest pole of the chart."""
    n = contact.normal
    return math.atan2(math.hypot(n[0], n[2]), abs(n[1]))
