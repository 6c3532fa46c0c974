"""
Spin-rolling in closed form: two polylines of equal legs, rolled onto each other.

A path on the plane and a path on the sphere of the same length roll onto each other; where their
corners differ, the sphere spins in place by the difference. The lengths are made equal by folding
the shorter path. The result is as long as the longer one of the straight line on the plane and the
great circle on the sphere. No path can be shorter than either of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import itertools
import math
from typing import NamedTuple, TypeAlias

from rolling_dynamics.errors import PlanningError
from rolling_planner.spin_rolling.motion import (
    angle_between,
    any_normal,
    apply,
    arc_is_free,
    combine,
    Contact,
    ContactRegion,
    cross,
    dot,
    goal_error,
    Motion,
    norm,
    pruned,
    roll,
    tangent,
    transpose,
    unit,
    Vector,
    wrap,
)

Point: TypeAlias = tuple[float, float]
Disc: TypeAlias = tuple[Vector, float]
REACHED = 1e-9  # maximum error of a plan, in units of the radius and rad
LONGEST = math.pi / 2  # length of one leg on the sphere [rad]
FINER = (1, 2, 4, 8, 16, 32, 64, 128)  # numbers of folds to try until a path fits the region


def least_length(radius: float, start: Contact, goal: Contact) -> float:
    """Return the length [m] below which no spin-rolling path can reach the goal."""
    return max(
        math.hypot(goal.u_s - start.u_s, goal.v_s - start.v_s),
        radius * angle_between(start.normal, goal.normal),
    )


def plan_geometric(
    radius: float,
    start: Contact,
    goal: Contact,
    region: ContactRegion | None = None,
    signs: tuple[float, float] = (1.0, 1.0),
) -> Motion:
    """
    Return a motion from start to goal with three inputs.

    Parameters
    ----------
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    region
        Allowed contacts; everywhere except at the poles if None.
    signs
        Side to which the paths on the sphere and on the plane are folded first, 1 or -1.

    Returns
    -------
    Motion
        The shortest possible path, unless a region or a pole is in the way.

    Raises
    ------
    ParameterError
        Start or goal lie outside the region.
    PlanningError
        No path through the region was found.

    """
    region = region or ContactRegion()
    region.check(start=start, goal=goal)
    limits = Limits(radius, start, region, region.keep_out((start.normal, goal.normal)), signs)
    motion = _direct(limits, goal)
    if motion is None and region.is_bounded:
        motion = _by_the_centre(limits, goal)
    if motion is None or not goal_error(motion.end, goal) <= REACHED * max(1.0, radius):
        raise PlanningError(
            'goal: no path stays in the contact region and off the poles of the chart; widen the '
            'region or reduce pole_margin'
        )
    return motion


def _direct(limits: Limits, goal: Contact) -> Motion | None:
    """Return the motion along the first route that can be folded, None if none can."""
    start = limits.start
    for route in _routes(start.normal, goal.normal, limits.region):
        turns = _along(limits, goal, route)
        if turns is not None:
            return Motion(limits.radius, start, pruned(turns))
    return None


def _by_the_centre(limits: Limits, goal: Contact) -> Motion | None:
    """
    Return a motion through the middle of the plane's rectangle, None if there is none.

    In a corner of the rectangle a path cannot be folded. It can start and end there in a straight
    line, while the contact on the sphere goes out and back. The attitude changes in the middle.
    """
    start = limits.start
    turns: list[Vector] = []
    u, v = (
        sum(bounds) / 2 if all(map(math.isfinite, bounds)) else at
        for bounds, at in (
            (limits.region.u_bounds, start.u_s),
            (limits.region.v_bounds, start.v_s),
        )
    )
    here = start
    for there in (Contact(u, v, start.R_SO), Contact(u, v, goal.R_SO), goal):
        motion = _direct(limits._replace(start=here), there)
        if motion is None:
            return None
        turns += motion.turns
        here = there
    return Motion(limits.radius, start, pruned(turns))


def _routes(a: Vector, b: Vector, region: ContactRegion) -> Iterator[list[Vector]]:
    """Yield corners of paths on the sphere, the shortest first, then detours."""
    d = angle_between(a, b)
    if d < 1e-12 or d < math.pi - 1e-6:
        yield [a, b]
    forward = tangent(a, b) if 1e-9 < d < math.pi - 1e-6 else any_normal(a)
    middle = combine(math.cos(d / 2), a, math.sin(d / 2), forward)
    side = cross(a, forward)
    for height in (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.3):
        for sign in (1.0, -1.0):
            yield [a, combine(math.cos(height), middle, sign * math.sin(height), side), b]
    if region.half_angle < math.pi:
        yield [a, unit(region.axis), b]
    for turn in range(1, 8):
        direction = combine(math.cos(turn), forward, math.sin(turn), side)
        yield [a, combine(math.cos(0.4), a, math.sin(0.4), direction), b]


def _along(limits: Limits, goal: Contact, route: Sequence[Vector]) -> list[Vector] | None:
    """Return rotations along a route, folded finely enough for the region, or None."""
    lengths = [angle_between(p, q) for p, q in itertools.pairwise(route)]
    total = sum(lengths)
    start, radius = limits.start, limits.radius
    du, dv = (goal.u_s - start.u_s) / radius, (goal.v_s - start.v_s) / radius
    L = math.hypot(du, dv)
    if max(L, total) < 1e-14:
        route, lengths = route[:1], []
    enough = max(1, math.ceil(max(L, total) / (2 * LONGEST)))
    for finer in FINER if limits.region.is_bounded else FINER[:2]:
        pieces = enough * finer
        sphere, plane = [route[0]], [(0.0, 0.0)]
        done = 0.0
        for p, q, length in zip(route, route[1:], lengths, strict=False):
            fraction = length / total if total > 0 else 1.0
            ends = (done, done + fraction)
            done += fraction
            step = fold(p, q, length, (du, dv), ends, pieces, limits)
            if step is None:
                break
            sphere += step[0]
            plane += step[1]
        else:
            return _turns(start, goal, sphere, plane)
    return None


def _turns(
    start: Contact, goal: Contact, sphere: Sequence[Vector], plane: Sequence[Point]
) -> list[Vector]:
    """Return rolls along the legs and the spins between them."""
    turns: list[Vector] = []
    heading, arriving = 0.0, None  # of the last leg on the plane; its end tangent on the sphere
    for a, b, p, q in zip(sphere, sphere[1:], plane, plane[1:], strict=False):
        axis = cross(a, b)
        sine = norm(axis)
        angle = math.atan2(sine, dot(a, b))
        if angle < 1e-15 or sine == 0.0:
            continue
        axis = (axis[0] / sine, axis[1] / sine, axis[2] / sine)
        leaving = cross(axis, a)
        direction = math.atan2(q[1] - p[1], q[0] - p[0])
        if arriving is None:
            d = apply(start.R_SO, leaving)
            shown = math.atan2(d[1], d[0])
        else:  # the sphere's corner is about its outward normal, the plane's about z
            shown = heading - math.atan2(dot(cross(arriving, leaving), a), dot(arriving, leaving))
        turns.append((0.0, 0.0, wrap(direction - shown)))
        turns.append(roll(direction, angle))
        heading, arriving = direction, cross(axis, b)
    if arriving is None:
        d = apply(goal.R_SO, apply(transpose(start.R_SO), (1.0, 0.0, 0.0)))
        turns.append((0.0, 0.0, math.atan2(d[1], d[0])))
    else:
        d = apply(goal.R_SO, arriving)
        turns.append((0.0, 0.0, wrap(math.atan2(d[1], d[0]) - heading)))
    return turns


class Limits(NamedTuple):
    """Limits of a corner, and the sides on which it is tried first, on sphere and plane."""

    radius: float
    start: Contact
    region: ContactRegion
    discs: Sequence[Disc]
    signs: tuple[float, float]

    def free(self, *points: Vector) -> bool:
        """Return whether great-circle arcs through points of the sphere enter no disc."""
        return all(arc_is_free(self.discs, a, b) for a, b in itertools.pairwise(points))

    def holds(self, at: Point) -> bool:
        """Return whether a point of the plane, relative to the start, lies in the region."""
        return self.region.holds_point(
            (self.start.u_s + self.radius * at[0], self.start.v_s + self.radius * at[1])
        )


def fold(
    p: Vector, q: Vector, length: float, line: Point, ends: Point, pieces: int, limits: Limits
) -> tuple[list[Vector], list[Point]] | None:
    """Return corners of both folded paths over one segment, in units of the radius."""
    forward = tangent(p, q) if length > 1e-9 else any_normal(p)
    side = cross(p, forward)
    base, L = length / pieces, math.hypot(*line)
    width = (ends[1] - ends[0]) / pieces
    straight = L * width
    leg = max(base, straight) / 2
    heading = (line[0] / L, line[1] / L) if L > 0 else (1.0, 0.0)
    sphere, plane = [], []
    here, at = p, (line[0] * ends[0], line[1] * ends[0])
    for k in range(pieces):
        last = k == pieces - 1
        there = (
            q if last else combine(math.cos(base * (k + 1)), p, math.sin(base * (k + 1)), forward)
        )
        t = ends[0] + width * (k + 1)
        to = (line[0] * t, line[1] * t)
        apex = _sphere_apex(p, forward, side, base, k, leg, limits.signs[0])
        corner = next((c for c in apex if limits.free(here, c, there)), None)
        height = math.sqrt(max((leg - straight / 2) * (leg + straight / 2), 0.0))
        middle = ((at[0] + to[0]) / 2, (at[1] + to[1]) / 2)
        turns = _plane_apexes(middle, heading, limits.signs[1] * height, L > 0)
        bend = next((c for c in turns if limits.holds(c)), None)
        if corner is None or bend is None:
            return None
        sphere += [corner, there]
        plane += [bend, to]
        here, at = there, to
    return sphere, plane


def _sphere_apex(
    p: Vector, forward: Vector, side: Vector, base: float, k: int, leg: float, first: float
) -> Iterator[Vector]:
    """Yield the corners at equal distance from both ends of piece k, on either side of it."""
    s = base * (k + 0.5)
    middle = combine(math.cos(s), p, math.sin(s), forward)
    cosine = math.cos(base / 2)
    rise = math.sqrt(max(math.sin(leg - base / 2) * math.sin(leg + base / 2), 0.0)) / cosine
    height = math.atan2(rise, math.cos(leg) / cosine)
    for sign in (first, -first) if height > 0 else (1.0,):
        yield combine(math.cos(height), middle, sign * math.sin(height), side)
    if base < 1e-9:  # out and back: in any direction
        for turn in range(1, 8):
            away = combine(math.cos(turn), side, math.sin(turn), forward)
            yield combine(math.cos(leg), p, math.sin(leg), away)


def _plane_apexes(middle: Point, heading: Point, height: float, directed: bool) -> Iterator[Point]:
    """Yield the corners of a fold on either side of the line, or around a point."""
    for sign in (1.0, -1.0) if height else (1.0,):
        yield (middle[0] - sign * height * heading[1], middle[1] + sign * height * heading[0])
    if not directed:
        for turn in range(1, 8):
            yield (middle[0] + height * math.cos(turn), middle[1] + height * math.sin(turn))
