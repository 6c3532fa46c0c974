"""
Vectors, rotations and great circles in plain Python, for plans that take well under a millisecond.

Vectors are tuples of three numbers, rotation matrices tuples of three rows.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TypeAlias

Vector: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]
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
