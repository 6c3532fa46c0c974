"""
A motion of the sphere made of turns about fixed axes: rolls along straight lines, spins in place.

A turn is a rotation vector w in S [rad]: the attitude becomes exp([w]) R_SO and the contact on the
plane moves by radius (w_y, -w_x). A roll has w_z = 0, a spin in place only w_z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple

from rolling_planner.spin_rolling.vectors import (
    Matrix,
    multiply,
    rotation,
    rotation_angle,
    transpose,
    Vector,
)

NOTHING = 1e-15  # a turn that is left out [rad]


class Contact(NamedTuple):
    """Contact on the plane [m] and attitude R_SO of the sphere."""

    u_s: float
    v_s: float
    R_SO: Matrix

    @property
    def normal(self) -> Vector:
        """Outward normal of the sphere at the contact, in O."""
        x, y, z = self.R_SO[2]
        return (-x, -y, -z)


@dataclass(frozen=True, eq=False)
class Motion:
    """
    Turns that follow each other.

    Attributes
    ----------
    radius
        Radius [m].
    start
        Where it starts.
    turns
        Rotation vectors in S [rad].

    """

    radius: float
    start: Contact
    turns: tuple[Vector, ...]

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        """Contact before each turn and after the last."""
        out = [self.start]
        for w in self.turns:
            last = out[-1]
            out.append(
                Contact(
                    last.u_s + self.radius * w[1],
                    last.v_s - self.radius * w[0],
                    multiply(rotation(w), last.R_SO),
                )
            )
        return tuple(out)

    @property
    def end(self) -> Contact:
        """Where it ends."""
        return self.contacts[-1]

    @property
    def length(self) -> float:
        """Length of the path on the plane [m]."""
        return self.radius * sum(math.hypot(w[0], w[1]) for w in self.turns)

    @property
    def spin(self) -> float:
        """Sum of all spins [rad]."""
        return sum(abs(w[2]) for w in self.turns)

    def pole_distance(self) -> float:
        """Return the least angle from the contact on the sphere to a pole of the chart [rad]."""
        return (
            min(_distance_on_turn(a, w) for a, w in zip(self.contacts, self.turns, strict=False))
            if self.turns
            else _from_pole(self.start.normal)
        )


def _from_pole(n: Vector) -> float:
    return math.atan2(math.hypot(n[0], n[2]), abs(n[1]))


def _distance_on_turn(start: Contact, w: Vector) -> float:
    """Return the least angle to a pole while the sphere turns about w, in closed form."""
    size = math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2)
    if size < NOTHING:
        return _from_pole(start.normal)
    k = (w[0] / size, w[1] / size, w[2] / size)
    # the pole's direction y(t) = exp([w] t) y0 in S; the contact is at -z
    y0 = (start.R_SO[0][1], start.R_SO[1][1], start.R_SO[2][1])
    along = k[0] * y0[0] + k[1] * y0[1] + k[2] * y0[2]
    mean = along * k[2]
    cosine = y0[2] - mean
    sine = k[0] * y0[1] - k[1] * y0[0]
    amplitude, phase = math.hypot(cosine, sine), math.atan2(sine, cosine)
    heights = [y0[2], mean + cosine * math.cos(size) + sine * math.sin(size)]
    for extreme, sign in ((phase, 1.0), (phase + math.pi, -1.0)):
        if extreme % (2 * math.pi) < size:
            heights.append(mean + sign * amplitude)
    return min(math.acos(min(abs(h), 1.0)) for h in heights)


def goal_error(end: Contact, goal: Contact) -> float:
    """Return the distance on the plane [m] and the angle of attitude [rad], whichever is more."""
    apart = math.hypot(end.u_s - goal.u_s, end.v_s - goal.v_s)
    return max(apart, rotation_angle(multiply(end.R_SO, transpose(goal.R_SO))))


def roll(direction: float, angle: float) -> Vector:
    """Return the turn that rolls by an angle [rad] in a direction on the plane [rad]."""
    return (-angle * math.sin(direction), angle * math.cos(direction), 0.0)


def pruned(turns: Sequence[Vector]) -> tuple[Vector, ...]:
    """Return the turns without those that do nothing."""
    return tuple(w for w in turns if max(abs(w[0]), abs(w[1]), abs(w[2])) > NOTHING)
