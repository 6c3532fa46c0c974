"""A body of a machine: its mass distribution, and its motion for the equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import casadi as ca
from rolling_dynamics.errors import check_choice
from rolling_dynamics.rotations import rate_body, rate_space, rotation_about, rotation_matrix

E3 = ca.DM([0, 0, 1])


@dataclass(frozen=True, eq=False)
class Moments:
    """
    Moments of mass about a point of a body, in its axes.

    The second moment is ``even`` 1 + ``excess`` axis axis' + ``rest``. The even part is kept
    separate because it causes no gyroscopic torque.

    Attributes
    ----------
    mass
        Mass [kg].
    first
        Mass times centre of mass (3) [kg m].
    even, excess, axis, rest
        Second moment: two scalars, a unit vector (3) and a symmetric matrix (3, 3) [kg m^2].

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
        Moment of inertia about the axis minus ``across`` [kg m^2]; 0 for a homogeneous ball.
    offset
        Position of the centre of mass from the origin along the axis [m].
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
    """Return the second moment of a point mass at a position (3, 3) [kg m^2]."""
    carried = mass * place
    return ca.dot(carried, place) * ca.SX.eye(3) - ca.triu2symm(ca.triu(carried @ place.T))


AXES = ('world', 'body')


class At(NamedTuple):
    """
    Contact of a rolling body, in its axes F.

    Attributes
    ----------
    reach, normal
        Position of the contact from the origin [m], and normal of the parent.
    R_FC, R_WC
        Axes of the contact in F and in W.

    """

    reach: ca.SX
    normal: ca.SX
    R_FC: ca.SX
    R_WC: ca.SX


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """
    Motion of a body as an affine function of the machine's speeds.

    Vectors are expressed in the axes F of the body, which are those of W, of the body or of its
    parent. The body's pivot is carried by a point of the parent and moves from there:

        alpha = C alpha_P [if it follows] + turn rates + turn_bias
        a     = C (acceleration of the point of the parent) + move rates + move_bias

    Attributes
    ----------
    R_WB, R_WF
        Attitudes of body and axes.
    p_WB
        Origin in W [m].
    pivot
        Position from the origin [m]; moments of mass are about it. The origin itself unless given.
    w, v
        Angular velocity [rad/s] and velocity of the pivot [m/s], in F.
    C
        Rotation from the axes of the parent to F.
    point
        Point of the parent that carries the body, from the parent's pivot, in its axes [m].
    follows
        Whether the body turns with the parent; False if its speeds are absolute.
    rides
        Whether the body has a prescribed motion in the parent, in the same axes.
    turn, move
        Accelerations per unit rate of each speed (3, k).
    turn_bias, move_bias
        Accelerations at zero rates.
    rates
        Rates of the entries of the state that belong to the joint, without its speeds.
    contact
        Contact of a rolling body.
    turned
        Attitude of the body in F, if it is simpler than from R_WB and R_WF.
    spin_rate
        Rates of the speeds along the normal, if the contact resists spin.
    solved
        Rates of the entries of the speeds, as a matrix times the body's own rates plus a vector;
        empty if they are these rates.
    falls
        Velocity entry of a body in free fall; its accelerations are relative to free fall.
    even
        Number of leading speeds that only move the centre of mass, along orthogonal axes.

    """

    R_WB: ca.SX
    R_WF: ca.SX
    p_WB: ca.SX
    w: ca.SX
    v: ca.SX
    pivot: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    C: ca.SX = field(default_factory=lambda: ca.SX.eye(3))
    point: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    follows: bool = True
    rides: bool = False
    turn: ca.SX = field(default_factory=lambda: ca.SX(3, 0))
    move: ca.SX = field(default_factory=lambda: ca.SX(3, 0))
    turn_bias: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    move_bias: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    rates: Mapping[str, ca.SX] = field(default_factory=dict)
    contact: At = field(default_factory=lambda: At(*[ca.SX(3, 3)] * 4))
    turned: ca.SX | None = None
    spin_rate: ca.SX | None = None
    solved: Mapping[str, tuple[ca.SX, ca.SX]] = field(default_factory=dict)
    falls: str = ''
    even: int = 0
    moments: Moments = field(
        default_factory=lambda: Moments(ca.SX(1, 1), ca.SX(3, 1), ca.SX(1, 1))
    )

    @property
    def R_FB(self) -> ca.SX:
        """Attitude of the body in F."""
        if self.turned is not None:
            return self.turned
        return ca.SX.eye(3) if self.R_WF is self.R_WB else self.R_WF.T @ self.R_WB

    @property
    def pivot_W(self) -> ca.SX:
        """The pivot in W (3) [m]."""
        return self.p_WB + self.R_WF @ self.pivot

    @property
    def v_origin(self) -> ca.SX:
        """Velocity of the origin (3) [m/s], in F."""
        return self.v - ca.cross(self.w, self.pivot)


class Motion(NamedTuple):
    """
    Motion of a body in some axes.

    Attributes
    ----------
    R, p
        Attitude, and the origin of the body [m].
    w, v
        Angular velocity [rad/s], and velocity of the origin [m/s].
    alpha, a
        Their rates if those of the speeds are zero.

    """

    R: ca.SX
    p: ca.SX
    w: ca.SX
    v: ca.SX
    alpha: ca.SX
    a: ca.SX


AT_REST = Motion(ca.SX.eye(3), *[ca.SX(3, 1)] * 5)


def accelerations(
    links: Sequence[Link], parents: Sequence[int], gravity_W: ca.SX
) -> list[tuple[ca.SX, ca.SX]]:
    """
    Return the accelerations of bodies at zero rates of all speeds, in their axes.

    For a body in free fall they are relative to gravity (3) [m/s^2] in W.
    """
    out: list[tuple[ca.SX, ca.SX]] = []
    for link, above in zip(links, parents, strict=True):
        turn, move = link.turn_bias, link.move_bias
        if link.falls:
            move = move + link.R_WF.T @ gravity_W
        if above >= 0:
            turns, moves = out[above]
            w, r = links[above].w, link.point
            move = link.C @ (moves + ca.cross(turns, r) + ca.cross(w, ca.cross(w, r))) + move
            turn = link.C @ turns + turn if link.follows else turn
        out.append((turn, move))
    return out


def ground() -> Link:
    """Return the world as a body."""
    zero = ca.SX(3, 1)
    return Link(R_WB=ca.SX.eye(3), R_WF=ca.SX.eye(3), p_WB=zero, w=zero, v=zero)


def in_axes(parent: Link, place: ca.SX | ca.DM | Sequence[float]) -> ca.SX:
    """Return a vector of the parent's frame in the parent's axes."""
    vector = ca.SX(place if isinstance(place, (ca.SX, ca.DM)) else ca.DM(place))
    if parent.R_WF is parent.R_WB:
        return vector
    return parent.R_WF.T @ parent.R_WB @ vector


def held_by(
    parent: Link, arm: ca.SX, C: ca.SX, v: ca.SX | float = 0.0, passing: ca.SX | float = 0.0
) -> dict[str, Any]:
    """
    Return the motion of the point of the parent that carries a body, as fields of its link.

    Parameters
    ----------
    parent, arm
        The parent, and the point from its origin in its axes (3) [m].
    C
        Rotation from the axes of the parent to the axes of the body.
    v, passing
        Velocity [m/s] of the pivot relative to the point in the axes of the body, and position of
        the body's origin relative to the point in W [m].

    """
    point = arm - parent.pivot
    return {
        'p_WB': parent.p_WB + parent.R_WF @ arm + passing,
        'point': point,
        'C': C,
        'v': C @ (parent.v + ca.cross(parent.w, point)) + v,
    }


class Attitude(NamedTuple):
    """R_WB, R_WF; rate of the entry; angular velocity in F, also per unit of each speed (3, k)."""

    R_WB: ca.SX
    R_WF: ca.SX
    rate: ca.SX
    w: ca.SX
    turns: ca.SX


def attitude_in(
    axes: str, attitude: ca.SX, speed: ca.SX, axis: Sequence[float] | None = None
) -> Attitude:
    """Return an attitude from a quaternion, or from an angle about an axis of the world."""
    check_choice('axes', axes, AXES)
    turns = ca.SX.eye(3) if axis is None else ca.SX(ca.sparsify(ca.DM(axis)))
    R = rotation_matrix(attitude) if axis is None else rotation_about(turns, attitude)
    if axis is not None:
        rate = speed
    elif axes == 'world':
        rate = rate_space(attitude, speed)
    else:
        rate = rate_body(attitude, speed)
    return Attitude(R, R if axes == 'body' else ca.SX.eye(3), rate, turns @ speed, turns)
