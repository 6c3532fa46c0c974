"""
A motion of the sphere made of turns about fixed axes: rolls along straight lines, spins in place.

A turn is a rotation vector w in S [rad]: the attitude becomes exp([w]) R_SO and the contact on the
plane moves by radius (w_y, -w_x). A roll has w_z = 0, a spin in place only w_z.

Vectors and rotations are in plain Python, for plans that take well under a millisecond: vectors
are tuples of three numbers, rotation matrices tuples of three rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple, TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
NOTHING = 1e-15  # a turn that is left out [rad]
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Sequence[float], b: Sequence[float]) -> Vector:
    """Return a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Sequence[float]) -> float:
    """Return the length of a."""
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def unit(a: Sequence[float]) -> Vector:
    """Return a / |a|."""
    n = norm(a)
    return (a[0] / n, a[1] / n, a[2] / n)


def combine(x: float, a: Sequence[float], y: float, b: Sequence[float]) -> Vector:
    """Return x a + y b."""
    return (x * a[0] + y * b[0], x * a[1] + y * b[1], x * a[2] + y * b[2])


def angle_between(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the angle between two unit vectors, accurate near 0 and pi [rad]."""
    return math.atan2(norm(cross(a, b)), dot(a, b))


def tangent(a: Sequence[float], b: Sequence[float]) -> Vector:
    """Return the unit tangent at a of the great circle to b; b is neither a nor -a."""
    axis = unit(cross(a, b))
    return cross(axis, a)


def any_normal(a: Sequence[float]) -> Vector:
    """Return a unit vector at a right angle to a, along the parallel of the chart's y axis."""
    x, _, z = a
    n = math.hypot(x, z)
    return (z / n, 0.0, -x / n) if n > 1e-9 else (1.0, 0.0, 0.0)


def apply(R: Matrix, a: Sequence[float]) -> Vector:
    """Return R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(dot(row, c) for c in columns) for row in A)  # type: ignore[return-value]


def transpose(A: Matrix) -> Matrix:
    """Return the transpose."""
    return tuple(zip(*A, strict=True))  # type: ignore[return-value]


def rotation(w: Sequence[float]) -> Matrix:
    """Return the rotation matrix of a rotation vector [rad]."""
    t = norm(w)
    if t < 1e-300:
        return IDENTITY
    x, y, z = w[0] / t, w[1] / t, w[2] / t
    s, c = math.sin(t), 2 * math.sin(t / 2) ** 2  # sin, 1 - cos
    return (
        (1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y),
        (c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x),
        (c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)),
    )


def rotation_angle(R: Matrix) -> float:
    """Return the angle of a rotation, accurate near 0 [rad]."""
    twice_sine = norm((R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]))
    return math.atan2(twice_sine, R[0][0] + R[1][1] + R[2][2] - 1)


def distance_to_arc(q: Sequence[float], a: Sequence[float], b: Sequence[float]) -> float:
    """Return the least angle between a point and the short great-circle arc from a to b [rad]."""
    ends = min(angle_between(q, a), angle_between(q, b))
    axis = cross(a, b)
    n = norm(axis)
    if n < 1e-14:
        return ends
    axis = (axis[0] / n, axis[1] / n, axis[2] / n)
    height = dot(q, axis)
    foot = combine(1, q, -height, axis)
    if dot(cross(a, foot), axis) > 0 and dot(cross(foot, b), axis) > 0:
        return math.atan2(abs(height), norm(foot))
    return ends


def wrap(angle: float) -> float:
    """Return an angle shifted by whole turns into [-pi, pi]."""
    return math.remainder(angle, 2 * math.pi)


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
