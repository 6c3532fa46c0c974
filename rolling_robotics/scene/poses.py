"""Poses as seven plain numbers: for one instant at a time, where arrays would cost more."""

from __future__ import annotations

from collections.abc import Sequence
import math

Pose = tuple[float, ...]  # x, y, z [m] and a unit quaternion w, x, y, z
Vector = tuple[float, float, float]

IDENTITY: Pose = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


def compose(a: Sequence[float], b: Sequence[float]) -> Pose:
    """Return the pose in A of what has the pose ``b`` in B, where B has the pose ``a`` in A."""
    _, _, _, aw, ax, ay, az = a
    bx, by, bz, bw, b1, b2, b3 = b
    x, y, z = _turned(a, (bx, by, bz))
    return (
        x + a[0],
        y + a[1],
        z + a[2],
        aw * bw - ax * b1 - ay * b2 - az * b3,
        aw * b1 + ax * bw + ay * b3 - az * b2,
        aw * b2 - ax * b3 + ay * bw + az * b1,
        aw * b3 + ax * b2 - ay * b1 + az * bw,
    )


def seen_from(a: Sequence[float], point: Sequence[float]) -> Vector:
    """Return a point of the root in a body of pose ``a`` [m]."""
    x, y, z, w, q1, q2, q3 = a
    away = (point[0] - x, point[1] - y, point[2] - z)
    return _turned((0.0, 0.0, 0.0, w, -q1, -q2, -q3), away)


def between(a: Sequence[float], b: Sequence[float], share: float) -> Pose:
    """Return the pose at a share of the way from one to another, the short way round."""
    sign = -1.0 if sum(m * n for m, n in zip(a[3:], b[3:], strict=True)) < 0 else 1.0
    mixed = [m + share * (n - m) for m, n in zip(a[:3], b[:3], strict=True)]
    q = [m + share * (sign * n - m) for m, n in zip(a[3:], b[3:], strict=True)]
    norm = math.hypot(*q)
    return (*mixed, *(v / norm for v in q))


def _turned(a: Sequence[float], v: Sequence[float]) -> Vector:
    """Return v + 2 w (q x v) + 2 q x (q x v), the vector turned by the quaternion of a pose."""
    _, _, _, w, x, y, z = a
    v1, v2, v3 = v
    c1, c2, c3 = 2 * (y * v3 - z * v2), 2 * (z * v1 - x * v3), 2 * (x * v2 - y * v1)
    return (
        v1 + w * c1 + y * c3 - z * c2,
        v2 + w * c2 + z * c1 - x * c3,
        v3 + w * c3 + x * c2 - y * c1,
    )
