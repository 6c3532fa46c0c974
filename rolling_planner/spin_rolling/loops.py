"""
Spin in place by pure rolling: loops around a point that are as small as there is room for.

Roll straight out from the contact, around a regular polygon whose centre it is, and straight back.
On the plane a leg of length l with the angle e between legs is seen from the centre at the angle
e, on the sphere at an angle o, cos(o/2) = cos(l/2) cos(e/2). After N legs with N o = 2 pi k the
contact on the sphere is back on its polygon after k rounds, and the plane's has turned by N e
around its centre, so that the straight way back ends at the start on both. The spin is
2 pi k - N e, the area that the sphere's polygon encloses (Gauss and Bonnet). Nothing lies further
from the start than the polygon's corner on the plane, l / (2 sin(e/2)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rolling_planner.spin_rolling.motion import roll
from rolling_planner.spin_rolling.vectors import Vector

SIDES = 6  # of a polygon on the sphere
SEEN = 2 * math.pi / SIDES  # angle of a side, seen from its centre [rad]


class Loops(NamedTuple):
    """A polygon: rounds on the sphere, side, angle between sides, way out [radius, rad]."""

    rounds: int
    side: float
    corner: float
    out: float

    @property
    def length(self) -> float:
        """Length of the path, in units of the radius."""
        return 2 * self.out + self.rounds * SIDES * self.side


def loops_for(spin: float, room: float) -> Loops:
    """
    Return the loops that spin by an angle and go no further than ``room``.

    Parameters
    ----------
    spin
        Angle, its magnitude counts, at most 2 pi [rad].
    room
        Greatest distance from the start, positive, in units of the radius.

    """
    area = 2 * math.pi * (1 - math.cos(math.atan(room)))  # of a round cap: more than a polygon's
    rounds = max(1, math.ceil(abs(spin) / area))
    while (loops := _loops(abs(spin), rounds)).out > room:
        rounds += 1
    return loops


def _loops(spin: float, rounds: int) -> Loops:
    corner = SEEN - spin / (rounds * SIDES)
    if corner <= 0:  # more than the polygon can enclose
        return Loops(rounds, math.pi, 0.0, math.inf)
    # sin^2(l/2) = (cos^2(e/2) - cos^2(o/2)) / cos^2(e/2), without the loss of digits
    rise = math.sqrt(math.sin((SEEN + corner) / 2) * math.sin((SEEN - corner) / 2))
    side = 2 * math.asin(rise / math.cos(corner / 2))
    return Loops(rounds, side, corner, side / (2 * math.sin(corner / 2)))


def spin_by_loops(spin: float, room: float, direction: float = 0.0) -> list[Vector]:
    """
    Return rolls that spin the sphere in place by an angle and stay within a distance.

    Parameters
    ----------
    spin
        About the plane's normal [rad].
    room
        As in :func:`loops_for`.
    direction
        In which the first roll goes [rad].

    """
    loops = loops_for(spin, room)
    sign = -math.copysign(1.0, spin)
    turns = [roll(direction, loops.out)]
    heading = direction + sign * (math.pi / 2 + loops.corner / 2)
    for _ in range(loops.rounds * SIDES):
        turns.append(roll(heading, loops.side))
        heading += sign * loops.corner
    back = direction + sign * loops.rounds * SIDES * loops.corner + math.pi
    turns.append(roll(back, loops.out))
    return turns
