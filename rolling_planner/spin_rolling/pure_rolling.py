"""
Pure rolling in closed form: to the contact, then the spin, then the displacement that are left.

Three manoeuvres, exact for every goal. A roll along a great circle brings the wanted point of the
sphere to the plane. A roll by a quarter turn, one by chi across it and the quarter turn back make
a spin by chi. A half turn to the side, half the way, the half turn back and the other half
displace the sphere and undo its rotation. It is long, but there is no goal that it does not reach;
it is what is left where no extremal is found.
"""

from __future__ import annotations

from collections.abc import Iterator
import math

from rolling_dynamics.errors import PlanningError
from rolling_planner.spin_rolling.motion import (
    Contact,
    goal_error,
    Motion,
    NOTHING,
    pruned,
    roll,
)
from rolling_planner.spin_rolling.region import arc_is_free, ContactRegion
from rolling_planner.spin_rolling.vectors import (
    angle_between,
    any_normal,
    apply,
    combine,
    cross,
    Matrix,
    multiply,
    rotation,
    tangent,
    transpose,
    Vector,
)

REACHED = 1e-9
QUARTER = math.pi / 2
DIRECTIONS = 12  # of the quarter turn that are tried
BENDS = (0.0, 0.2, -0.2, 0.6, -0.6)  # of the way, where the half turn would meet a pole [rad]
ENOUGH = 4  # motions that stay off the poles, of which the shortest is taken


def plan_closed_form(
    radius: float, start: Contact, goal: Contact, region: ContactRegion | None = None
) -> Motion:
    """
    Return a motion without spin from start to goal.

    Parameters
    ----------
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    region
        Where the contact may be; everywhere but at the poles if None.

    Raises
    ------
    ParameterError
        Start or goal lie outside the region.
    PlanningError
        None of the motions that were tried stays in the region and off the poles.

    """
    region = region or ContactRegion()
    for name, contact in (('start', start), ('goal', goal)):
        region.check(name, (contact.u_s, contact.v_s), contact.normal)
    found: list[Motion] = []
    for turns in _candidates(radius, start, goal):
        motion = Motion(radius, start, pruned(turns))
        if stays_inside(motion, region, goal):
            found.append(motion)
            if len(found) == ENOUGH:
                break
    if not found:
        raise PlanningError(
            'goal: no pure rolling in closed form stays in the contact region and off the poles; '
            "widen the region, or allow spin (mode 'spin_rolling')"
        )
    best = min(found, key=lambda m: m.length)
    if not goal_error(best.end, goal) <= REACHED * max(1.0, radius):
        raise PlanningError(f'goal: missed by {goal_error(best.end, goal):.3g}')
    return best


def stays_inside(motion: Motion, region: ContactRegion, goal: Contact) -> bool:
    """Tell whether a motion stays in a region and off the poles."""
    discs = region.keep_out((motion.start.normal, goal.normal))
    if motion.pole_distance() < min(discs[0][1], discs[1][1]):
        return False
    if not region.is_bounded:
        return True
    contacts = motion.contacts
    if not all(region.holds_point((c.u_s, c.v_s)) for c in contacts):
        return False
    for contact, w in zip(contacts, motion.turns, strict=False):
        parts = 1 + int(math.hypot(w[0], w[1]) / 1.0)
        share = (w[0] / parts, w[1] / parts, w[2] / parts)
        here = contact
        for _ in range(parts):
            there = Contact(0.0, 0.0, multiply(rotation(share), here.R_SO))
            if not arc_is_free(discs, here.normal, there.normal):
                return False
            here = there
    return True


def _candidates(radius: float, start: Contact, goal: Contact) -> Iterator[list[Vector]]:
    """Yield motions: bends of the way, ways to the contact, directions and sides of the turns."""
    for bend in BENDS:
        yield from _candidates_with(bend, radius, start, goal)


def _candidates_with(
    bend: float, radius: float, start: Contact, goal: Contact
) -> Iterator[list[Vector]]:
    a, b = start.normal, goal.normal
    d = angle_between(a, b)
    forward = tangent(a, b) if 1e-9 < d < math.pi - 1e-9 else any_normal(a)
    ways = [[b]]
    if d > math.pi - 1e-9:
        ways = [[forward, b]]
    middle = combine(math.cos(d / 2), a, math.sin(d / 2), forward)
    side = cross(a, forward)
    ways += [
        [combine(math.cos(h), middle, math.sin(h), side), b]
        for h in (0.1, -0.1, 0.4, -0.4, 1.0, -1.0)
    ]
    for way in ways:
        turns, here = _rolls_to(start, way)
        rest = multiply(goal.R_SO, transpose(here))
        chi = math.atan2(rest[1][0] - rest[0][1], rest[0][0] + rest[1][1])
        du = (goal.u_s - start.u_s) / radius - sum(w[1] for w in turns)
        dv = (goal.v_s - start.v_s) / radius + sum(w[0] for w in turns)
        best = math.atan2(dv, du)
        for k in range(DIRECTIONS):
            across = best + 2 * math.pi * k / DIRECTIONS
            left = (du - abs(chi) * math.cos(across), dv - abs(chi) * math.sin(across))
            spin = _spin(chi, across) if abs(chi) > NOTHING else []
            for mirror in (1.0, -1.0):
                legs = _bent(left, bend)
                yield [*turns, *spin, *(w for leg in legs for w in _displace(leg, mirror))]


def _rolls_to(start: Contact, way: list[Vector]) -> tuple[list[Vector], Matrix]:
    """Return rolls along great circles through contacts, and the attitude after them."""
    turns, R, here = [], start.R_SO, start.normal
    for there in way:
        angle = angle_between(here, there)
        if angle > NOTHING:
            d = apply(R, tangent(here, there))
            w = roll(math.atan2(d[1], d[0]), angle)
            turns.append(w)
            R = multiply(rotation(w), R)
        here = there
    return turns, R


def _spin(chi: float, across: float) -> list[Vector]:
    """
    Return rolls that make a spin by chi and displace by |chi| in the direction ``across``.

    With e the axis of the quarter turn, exp(-pi/2 e) exp(chi f) exp(pi/2 e) = exp(chi z) for
    f = e x z.
    """
    middle = roll(across, abs(chi))
    f = roll(across, math.copysign(1.0, chi))
    e = cross((0.0, 0.0, 1.0), f)  # f = e x z
    out = (QUARTER * e[0], QUARTER * e[1], 0.0)
    return [out, middle, (-out[0], -out[1], 0.0)]


def _bent(by: tuple[float, float], bend: float) -> list[tuple[float, float]]:
    """Return a displacement as one leg, or as two that turn away from it and back by an angle."""
    if bend == 0.0:
        return [by]
    t = 0.5 * math.tan(bend)
    return [
        (0.5 * by[0] - t * by[1], 0.5 * by[1] + t * by[0]),
        (0.5 * by[0] + t * by[1], 0.5 * by[1] - t * by[0]),
    ]


def _displace(by: tuple[float, float], mirror: float) -> list[Vector]:
    """Return rolls that displace and do not rotate: exp(-pi e) exp(h f) exp(pi e) = exp(-h f)."""
    length = math.hypot(*by)
    if length < NOTHING:
        return []
    direction = math.atan2(by[1], by[0])
    half = roll(direction, length / 2)
    out = roll(direction + mirror * QUARTER, math.pi)
    return [out, half, (-out[0], -out[1], 0.0), half]
