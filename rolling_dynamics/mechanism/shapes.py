"""Surfaces of bodies: shapes that roll, and grounds on which they roll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
import math
from typing import Protocol

import casadi as ca
from rolling_dynamics.surfaces.surface import LocalGeometry
from rolling_dynamics.surfaces.surface import Surface as Charts

BEYOND = 1e-6  # rad by which a roller touches beyond the point where the next one takes over


class Shape(Protocol):
    """A surface, in the frame of its body, that touches a plane at one point."""

    @property
    def side(self) -> ca.DM:
        """Axis (3) of the body for y of a contact; zeros for y of the surface under it."""
        ...

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane with this normal (3), out of the plane."""
        ...


def reach_of(shape: Shape, R: ca.SX, normal: ca.SX) -> ca.SX:
    """
    Return the point (3) [m], from the origin of a body, that touches a plane.

    Parameters
    ----------
    shape, R
        The surface of the body, and its attitude.
    normal
        Normal of the plane, in the axes of the result (3).

    """
    if isinstance(shape, Sphere):
        return shape.touch(normal)
    if isinstance(shape, Wheel):
        return replace(shape, side=R @ shape.side).touch(normal)
    if isinstance(shape, Barrel):
        return replace(shape, axis=R @ shape.axis).touch(normal)
    return R @ shape.touch(R.T @ normal)


class Surface(Protocol):
    """Surface on which a shape rolls, in the frame of the body that carries it."""

    @property
    def side(self) -> ca.DM:
        """Axis (3) for y of a contact if the shape has none; zeros for y, or x."""
        ...

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a point (3) from the surface, positive on the free side."""
        ...


@dataclass(frozen=True, eq=False)
class Plane:
    """
    A plane through the origin, or the tangent plane of another surface at a closest point.

    Attributes
    ----------
    normal
        Unit vector to the free side (3).
    foot
        A point of the plane (3) [m].
    side
        Axis (3) for y of a contact if the shape has none; zeros for y, or x.

    """

    normal: Sequence[ca.SX | float] = (0.0, 0.0, 1.0)
    foot: ca.SX | ca.DM = field(default_factory=lambda: ca.DM.zeros(3))
    side: ca.SX | ca.DM = field(default_factory=lambda: ca.DM.zeros(3))

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the height [m] of a point (3)."""
        return ca.dot(ca.vertcat(*self.normal), place - self.foot)


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

    @property
    def side(self) -> ca.DM:
        """Axis (3) of a cylinder; zeros of a sphere."""
        return ca.DM([0, 0, 3 - self.axes])

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a point (3) from the wall."""
        return self.radius - ca.norm_2(place[: self.axes])


@dataclass(frozen=True, eq=False)
class Charted:
    """
    Any surface with a chart; the state has its point that is closest to the rolling body.

    Attributes
    ----------
    surface
        The surface, in the frame of the body that carries it.
    dimensions
        Its dimensions, in the order of its parameters; None for its defaults.

    """

    surface: Charts
    dimensions: ca.SX | None = None
    side = ca.DM.zeros(3)

    def at(self, uv: ca.SX) -> LocalGeometry:
        """Return its geometry at coordinates (2)."""
        own = ca.SX(ca.DM(self.surface.parameter_values))
        return self.surface.geometry(uv, own if self.dimensions is None else self.dimensions)

    def distance(self, place: ca.SX) -> ca.SX:
        """Raise an error: the distance is known only at the point in the state."""
        raise NotImplementedError

    def plane(self, uv: ca.SX) -> Plane:
        """Return the tangent plane at coordinates (2)."""
        g = self.at(uv)
        return Plane(ca.vertsplit(g.frame[:, 2]), foot=g.position, side=g.frame[:, 1])


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
        """Return the distance [m] of a point (3) from the outside."""
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
    side = ca.DM([0, 0, 1])

    def distance(self, place: ca.SX) -> ca.SX:
        """Return the distance [m] of a point (3) from the outside."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Barrel:
    """
    A barrel roller of a mecanum wheel, about its middle: the rim of the wheel envelops it.

    A normal of the roller goes through its axis and, where it touches the ground, through the
    axle. At an angle phi about the axle from the middle, it meets the axis at d tan(phi) /
    sin(angle), at R - d / cos(phi) from the contact.

    Attributes
    ----------
    rim
        Radius R of the wheel [m].
    offset
        Distance d of the middle of the roller from the axle [m].
    angle
        Between the axes of roller and wheel [rad].
    reach
        Maximum phi [rad]: pi over the number of rollers.
    axis
        Unit vector along the roller (3).

    """

    rim: ca.SX
    offset: ca.SX
    angle: float
    reach: float
    axis: ca.DM | ca.SX
    side = ca.DM.zeros(3)

    def profile(self, phi: ca.SX | float) -> tuple[ca.SX, ca.SX]:
        """Return position along the axis and radius [m] of the circle that touches at phi."""
        inclined = ca.sin(phi) * math.sin(self.angle)
        along, height = ca.tan(phi) / math.sin(self.angle), self.rim - self.offset / ca.cos(phi)
        return self.offset * along + height * inclined, height * ca.sqrt(1 - inclined**2)

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane with this normal (3), at most its end."""
        end = math.sin(self.reach + BEYOND)
        low = ca.dot(self.axis, normal_B)
        sine = ca.fmax(-end, ca.fmin(end, -low / math.sin(self.angle)))
        place, radius = self.profile(ca.asin(sine))
        across = low * self.axis - normal_B
        return place * self.axis + radius * across / ca.norm_2(across)


@dataclass(frozen=True, eq=False)
class Wheel:
    """
    A wheel about the origin of its body: a circular edge, or a torus.

    Attributes
    ----------
    radius
        Radius of the circle in the middle of the tyre [m].
    tyre
        Radius of the tyre's section [m]; 0 for an edge.
    side
        Its axis, a unit vector (3); y by default.

    """

    radius: ca.SX
    tyre: ca.SX | float = 0.0
    side: ca.DM | ca.SX = field(default_factory=lambda: ca.DM([0, 1, 0]))

    def touch(self, normal_B: ca.SX) -> ca.SX:
        """Return the point (3) [m] that touches a plane of this normal (3)."""
        up = normal_B - ca.dot(self.side, normal_B) * self.side
        return -self.radius * up / ca.norm_2(up) - self.tyre * normal_B
