"""Surfaces of bodies: shapes that roll, and what they roll on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import casadi as ca


class Shape(Protocol):
    """A surface, in the frame of its body, that touches a plane at one point."""

    @property
    def side(self) -> ca.DM:
        """Axis (3) of the body along which a contact has y; zeros for y of what it rolls on."""
        ...

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3), out of the plane."""
        ...


class Surface(Protocol):
    """What a shape rolls on, in the frame of the body that carries it."""

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a place (3) from the surface, positive on the free side."""
        ...


@dataclass(frozen=True, eq=False)
class Plane:
    """
    A plane through the origin.

    Attributes
    ----------
    normal
        Unit vector to the free side (3).

    """

    normal: Sequence[ca.SX | float] = (0.0, 0.0, 1.0)

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the height [m] of a place (3)."""
        return ca.dot(ca.vertcat(*self.normal), place)


@dataclass(frozen=True, eq=False)
class Hollow:
    """
    The inside of a sphere about the origin, or of a cylinder about the z axis.

    Attributes
    ----------
    radius
        Radius [m].
    axes
        3 for a sphere, 2 for a cylinder.

    """

    radius: ca.SX
    axes: int = 3

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a place (3) from the wall."""
        return self.radius - ca.norm_2(place[: self.axes])


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
    side = ca.DM.zeros(3)

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        return -self.radius * normal_B

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a place (3) from the outside."""
        return ca.norm_2(place) - self.radius


@dataclass(frozen=True, eq=False)
class Cylinder:
    """
    A cylinder about the z axis of its body, on which others roll.

    Attributes
    ----------
    radius
        Radius [m].

    """

    radius: ca.SX
    side = ca.DM.zeros(3)

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a place (3) from the outside."""
        return ca.norm_2(place[:2]) - self.radius


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """
    An ellipsoid about the origin of its body, along its axes.

    Attributes
    ----------
    radii
        Half axes (3) [m].

    """

    radii: ca.SX
    side = ca.DM.zeros(3)

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        return -(self.radii**2) * normal_B / ca.norm_2(self.radii * normal_B)


@dataclass(frozen=True, eq=False)
class Wheel:
    """
    A wheel about the origin of its body: a circular edge, or a torus.

    Attributes
    ----------
    radius
        Of the circle in the middle of the tyre [m].
    tyre
        Radius of the tyre's section [m]; 0 of an edge.
    side
        Its axis, a unit vector (3); y by default.

    """

    radius: ca.SX
    tyre: ca.SX | float = 0.0
    side: ca.DM = field(default_factory=lambda: ca.DM([0, 1, 0]))

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        up = normal_B - ca.dot(self.side, normal_B) * self.side
        return -self.radius * up / ca.norm_2(up) - self.tyre * normal_B
