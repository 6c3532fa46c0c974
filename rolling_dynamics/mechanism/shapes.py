"""Surfaces that roll on a plane: where they touch it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import casadi as ca


class Shape(Protocol):
    """A surface, in the frame of its body, that touches a plane at one point."""

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3), out of the plane."""
        ...


@dataclass(frozen=True, eq=False)
class Sphere:
    """
    A sphere about the origin of its body.

    Attributes
    ----------
    radius
        Radius [m].

    """

    radius: ca.SX

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        return -self.radius * normal_B


@dataclass(frozen=True, eq=False)
class Wheel:
    """
    A wheel with the y axis of its body, about its origin: a circular edge, or a torus.

    Attributes
    ----------
    radius
        Of the circle in the middle of the tyre [m].
    tyre
        Radius of the tyre's section [m]; 0 of an edge.

    """

    radius: ca.SX
    tyre: ca.SX | float = 0.0

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        x, z = normal_B[0], normal_B[2]
        down = -ca.vertcat(x, 0, z) / ca.sqrt(x * x + z * z)
        return self.radius * down - self.tyre * normal_B
