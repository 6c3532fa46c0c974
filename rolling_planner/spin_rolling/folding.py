"""
Folding two paths to one length, on the sphere and on the plane.

Each piece of the shorter path becomes the two equal sides of a triangle whose base it was; the
more pieces, the closer the fold stays to the path. Lengths are in units of the radius.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import itertools
import math
from typing import TypeAlias

from rolling_planner.spin_rolling.motion import Contact
from rolling_planner.spin_rolling.region import arc_is_free, ContactRegion
from rolling_planner.spin_rolling.vectors import any_normal, combine, cross, tangent, Vector

Point: TypeAlias = tuple[float, float]
Disc: TypeAlias = tuple[Vector, float]


class Limits:
    """What a corner must keep to, and the side on which it is tried first."""

    def __init__(
        self,
        radius: float,
        start: Contact,
        region: ContactRegion,
        discs: Sequence[Disc],
        signs: tuple[float, float],
    ) -> None:
        self.radius, self.start, self.region, self.discs = radius, start, region, discs
        self.on_sphere, self.on_plane = signs

    def free(self, *points: Vector) -> bool:
        """Tell whether great-circle arcs through points of the sphere enter no disc."""
        return all(arc_is_free(self.discs, a, b) for a, b in itertools.pairwise(points))

    def holds(self, at: Point) -> bool:
        """Tell whether a point of the plane, seen from the start, lies in the region."""
        return self.region.holds_point(
            (self.start.u_s + self.radius * at[0], self.start.v_s + self.radius * at[1])
        )


def fold(
    p: Vector, q: Vector, length: float, line: Point, ends: Point, pieces: int, limits: Limits
) -> tuple[list[Vector], list[Point]] | None:
    """Return corners of both folded paths over one stretch, in units of the radius."""
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
        apex = _sphere_apex(p, forward, side, base, k, leg, limits.on_sphere)
        corner = next((c for c in apex if limits.free(here, c, there)), None)
        height = math.sqrt(max((leg - straight / 2) * (leg + straight / 2), 0.0))
        middle = ((at[0] + to[0]) / 2, (at[1] + to[1]) / 2)
        turns = _plane_apexes(middle, heading, limits.on_plane * height, L > 0)
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
    if base < 1e-9:  # out and back: any direction will do
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
