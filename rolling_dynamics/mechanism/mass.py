"""Mass distribution of a body: mass, first and second moments about its origin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import casadi as ca

E3 = ca.DM([0, 0, 1])


@dataclass(frozen=True, eq=False)
class Moments:
    """
    Moments of mass about a point of a body, in its axes.

    The second moment is ``even`` 1 + ``excess`` axis axis' + ``rest``. The even part stands apart
    because it has no gyroscopic torque.

    Attributes
    ----------
    mass
        Mass [kg].
    first
        Mass times centre of mass (3) [kg m].
    even, excess, axis, rest
        Second moment: two numbers, a unit vector (3) and a symmetric matrix (3, 3) [kg m^2].

    """

    mass: ca.SX
    first: ca.SX
    even: ca.SX
    excess: ca.SX = field(default_factory=lambda: ca.SX(1, 1))
    axis: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    rest: ca.SX = field(default_factory=lambda: ca.SX(3, 3))

    @property
    def second(self) -> ca.SX:
        """Second moment, a symmetric matrix (3, 3) [kg m^2]."""
        scaled = self.excess * self.axis
        uneven = ca.triu(scaled @ self.axis.T)
        return self.even * ca.SX.eye(3) + ca.triu2symm(uneven) + self.rest

    def gyroscopic(self, w: ca.SX) -> ca.SX:
        """Return w x (second moment times w) (3) [N m]."""
        along = self.excess * ca.dot(self.axis, w)
        return along * ca.cross(w, self.axis) + ca.cross(w, self.rest @ w)

    def twice_kinetic(self, w: ca.SX, v: ca.SX) -> ca.SX:
        """Return twice the kinetic energy at an angular velocity and a velocity of the point."""
        turning = self.even * ca.sumsqr(w) + self.excess * ca.dot(self.axis, w) ** 2
        turning += ca.dot(w, self.rest @ w)
        return self.mass * ca.sumsqr(v) + 2 * ca.dot(v, ca.cross(w, self.first)) + turning


@dataclass(frozen=True, eq=False)
class Revolution:
    """
    A body with an axis of inertial symmetry through its origin and its centre of mass.

    Attributes
    ----------
    mass
        Mass [kg].
    across
        Moment of inertia across the axis, about the centre of mass [kg m^2].
    excess
        What the moment about the axis has more [kg m^2]; 0 of a homogeneous ball.
    offset
        Of the centre of mass from the origin along the axis [m].
    axis
        Unit vector in the frame of the body (3).

    """

    mass: ca.SX
    across: ca.SX
    excess: ca.SX | float = 0.0
    offset: ca.SX | float = 0.0
    axis: ca.DM = E3

    @property
    def centre(self) -> ca.SX:
        """Centre of mass in the frame of the body (3) [m]."""
        return ca.SX(self.offset * self.axis)

    @property
    def about_centre(self) -> ca.SX:
        """Inertia about the centre of mass in the frame of the body (3, 3) [kg m^2]."""
        return self.across * ca.SX.eye(3) + self.excess * (self.axis @ self.axis.T)

    def moments(self, R_FB: ca.SX, pivot: ca.SX) -> Moments:
        """Return the moments in axes F about a point from the origin of the body (3) [m]."""
        axis = R_FB @ self.axis
        if not pivot.is_zero():
            arm = self.offset * axis - pivot
            rest = point_second(self.mass, arm)
            return Moments(self.mass, self.mass * arm, self.across, self.excess, axis, rest)
        carried = self.mass * self.offset
        return Moments(
            mass=ca.SX(self.mass),
            first=carried * axis,
            even=self.across + carried * self.offset,
            excess=self.excess - carried * self.offset,
            axis=axis,
        )


@dataclass(frozen=True, eq=False)
class Solid:
    """
    Any body.

    Attributes
    ----------
    mass
        Mass [kg].
    about_centre
        Inertia about the centre of mass in the frame of the body (3, 3) [kg m^2].
    centre
        Centre of mass in the frame of the body (3) [m].

    """

    mass: ca.SX
    about_centre: ca.SX
    centre: ca.SX = field(default_factory=lambda: ca.SX(3, 1))

    def moments(self, R_FB: ca.SX, pivot: ca.SX) -> Moments:
        """Return the moments in axes F about a point from the origin of the body (3) [m]."""
        arm = R_FB @ self.centre - pivot
        turned = ca.triu2symm(ca.triu(R_FB @ self.about_centre @ R_FB.T))
        return Moments(
            mass=ca.SX(self.mass),
            first=self.mass * arm,
            even=ca.SX(1, 1),
            rest=turned + point_second(self.mass, arm),
        )


Distribution = Revolution | Solid


def together(body: Moments, carried: Moments, point: ca.SX) -> Moments:
    """Return the moments of a body and of one that it carries at a point, in the same axes."""
    mixed = ca.skew(point) @ ca.skew(carried.first)
    more = point_second(carried.mass, point) + carried.second - mixed - mixed.T
    return replace(
        body,
        mass=body.mass + carried.mass,
        first=body.first + carried.mass * point + carried.first,
        rest=body.rest + more,
    )


def point_second(mass: ca.SX, place: ca.SX) -> ca.SX:
    """Return the second moment of a point mass at a place (3, 3) [kg m^2]."""
    carried = mass * place
    return ca.dot(carried, place) * ca.SX.eye(3) - ca.triu2symm(ca.triu(carried @ place.T))
