"""Joints of bodies that roll on a plane of their parent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import casadi as ca
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.mechanism.joints import Joint
from rolling_dynamics.mechanism.link import At, attitude_in, in_axes, Link
from rolling_dynamics.mechanism.shapes import Shape, Sphere
from rolling_dynamics.rotations import rate_space, rotation_matrix

REST_RATE = 1e-3  # rolling slower than this fraction of sqrt(g / r) is resisted in proportion
E3 = ca.DM([0, 0, 1])


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolling(Joint):
    """
    A body that rolls without slipping on the plane z = 0 of its parent.

    There is no constraint that could drift: the state holds the contact point on the plane, the
    attitude and the angular velocity of the body, both in W.

    Attributes
    ----------
    shape
        Surface of the body.
    contact, attitude, speed
        Entries: contact point in the parent (2), unit quaternion q_WB, and angular velocity in
        the axes of the body.
    axes
        ``world`` or ``body``.
    mu
        Coefficient of static friction.
    resistance
        Lever arm of the rolling resistance [m]: its torque is this times the normal force.
    damping
        Torque against the rate of turning over the parent, per rad/s [N m s].

    """

    shape: Shape
    contact: Entry
    attitude: Entry
    speed: Entry
    axes: str = 'world'
    mu: ca.SX | float = 1.0
    resistance: ca.SX | float = 0.0
    damping: ca.SX | float = 0.0

    configured: ClassVar[tuple[str, ...]] = ('contact', 'attitude')
    moving: ClassVar[tuple[str, ...]] = ('speed',)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        w = at[self.speed.name]
        R_WB, R_WF, rate = attitude_in(self.axes, at[self.attitude.name], w)
        C = R_WF.T @ parent.R_WF
        R_FP = R_WF.T @ parent.R_WB
        normal = R_FP[:, 2]
        reach, reach_rate = self._reach(R_WF.T @ R_WB, normal, w - C @ parent.w)
        point = in_axes(parent, ca.vertcat(at[self.contact.name], 0))
        carried = C @ (parent.v + ca.cross(parent.w, point))
        w_P = C @ parent.w
        # the point of contact over the parent moves as over the body
        over = reach_rate
        if isinstance(self.shape, Sphere):
            bias = -ca.cross(w_P, ca.cross(w, reach)) - ca.cross(w - w_P, ca.cross(w_P, reach))
        else:
            bias = -ca.cross(w, ca.cross(w, reach)) - ca.cross(w - w_P, over)
        return Link(
            R_WB=R_WB,
            R_WF=R_WF,
            p_WB=parent.p_WB + parent.R_WF @ point - R_WF @ reach,
            w=w,
            v=carried - ca.cross(w, reach),
            C=C,
            point=point,
            follows=False,
            turn=ca.SX.eye(3),
            move=ca.skew(reach),
            move_bias=bias,
            rates={self.contact.name: (R_FP.T @ over)[:2], self.attitude.name: rate},
            contact=At(reach, normal, R_FP, parent.R_WB),
        )

    def _reach(self, R_FB: ca.SX, normal: ca.SX, w_PB: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the contact from the body's origin, and its velocity over the body, in F."""
        if isinstance(self.shape, Sphere):
            return -self.shape.radius * normal, self.shape.radius * ca.cross(w_PB, normal)
        given = ca.SX.sym('normal', 3)
        place, seen = self.shape.touch(given), R_FB.T @ normal
        motion = ca.jtimes(place, given, -ca.cross(R_FB.T @ w_PB, given))
        place, motion = ca.substitute([place, motion], [given], [seen])
        return R_FB @ place, R_FB @ motion


@dataclass(frozen=True, eq=False, kw_only=True)
class PureRolling(Joint):
    """
    A sphere that rolls on the plane z = 0 of its parent without slipping or spinning.

    Attributes
    ----------
    radius
        Radius [m].
    contact, speed
        Entries: contact point in the parent (2), and its rate there (2).
    attitude
        Entry: unit quaternion q_WB; None leaves it out, where the mass of the body is the same
        about every axis.
    mu
        Coefficient of static friction.

    """

    radius: ca.SX
    contact: Entry
    speed: Entry
    attitude: Entry | None = None
    mu: ca.SX | float = 1.0

    configured: ClassVar[tuple[str, ...]] = ('contact', 'attitude')
    moving: ClassVar[tuple[str, ...]] = ('speed',)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of the parent's frame."""
        R = parent.R_WB
        C = ca.SX.eye(3) if parent.R_WF is R else R.T @ parent.R_WF
        rate = ca.vertcat(at[self.speed.name], 0)
        point = in_axes(parent, ca.vertcat(at[self.contact.name], self.radius))
        w_P, turn = C @ parent.w, ca.skew(E3)[:, :2] / self.radius
        over = turn @ rate[:2]
        rates, R_WB = {self.contact.name: rate[:2]}, R
        if self.attitude is not None:
            q = at[self.attitude.name]
            R_WB = rotation_matrix(q)
            rates[self.attitude.name] = rate_space(q, R @ (w_P + over))
        return Link(
            R_WB=R_WB,
            R_WF=R,
            p_WB=parent.p_WB + parent.R_WF @ point,
            w=w_P + over,
            v=C @ (parent.v + ca.cross(parent.w, point)) + rate,
            C=C,
            point=point,
            turn=turn,
            move=ca.SX.eye(3)[:, :2],
            turn_bias=ca.cross(w_P, over),
            move_bias=2 * ca.cross(w_P, rate),
            rates=rates,
            contact=At(-self.radius * E3, ca.SX(E3), ca.SX.eye(3), R),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceRolling(Joint):
    """
    A body that rolls without slipping on any surface of its parent, their contact being given.

    Expressions are written in the symbols of the entries, which ``Machine.variable`` declares.
    Vectors are in the axes E of the speed.

    Attributes
    ----------
    rates
        Entries of the configuration, with their rates in rolling.
    speed
        Entry: angular velocity of the body over the parent.
    R_PE, axes_rate
        Axes E in the frame of the parent, and their angular velocity over it.
    place_P
        The contact in the frame of the parent [m].
    R_EB, reach
        Attitude of the body, and the contact from its origin [m].
    R_EC
        Axes of the contact, z along the normal out of the parent.
    passing
        Velocity of the contact over the parent [m/s].
    spin_rate
        Rate of the speed along the normal where the contact holds the spin, else None.
    mu
        Coefficient of static friction.

    """

    rates: Mapping[Entry, ca.SX]
    speed: Entry
    place_P: ca.SX
    R_EB: ca.SX
    reach: ca.SX
    R_EC: ca.SX
    passing: ca.SX
    R_PE: ca.SX = field(default_factory=lambda: ca.SX.eye(3))
    axes_rate: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    spin_rate: ca.SX | None = None
    mu: ca.SX | float = 1.0

    moving: ClassVar[tuple[str, ...]] = ('speed',)

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Entries of the state that say where the body is."""
        return tuple(self.rates)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of its speed."""
        E, w, reach = self.R_PE, at[self.speed.name], self.reach
        point, R_WE = in_axes(parent, self.place_P - E @ reach), parent.R_WB @ E
        C = E.T if parent.R_WF is parent.R_WB else R_WE.T @ parent.R_WF
        w_P, v, turning = C @ parent.w, -ca.cross(w, reach), ca.cross(self.axes_rate, w)
        return Link(
            R_WB=R_WE @ self.R_EB,
            R_WF=R_WE,
            p_WB=parent.p_WB + parent.R_WF @ point,
            w=w_P + w,
            v=C @ (parent.v + ca.cross(parent.w, point)) + v,
            C=C,
            point=point,
            turn=ca.SX.eye(3),
            move=ca.skew(reach),
            turn_bias=ca.cross(w_P, w) + turning,
            move_bias=2 * ca.cross(w_P, v)
            + ca.cross(w, v - self.passing)
            + ca.cross(reach, turning),
            rates={entry.name: rate for entry, rate in self.rates.items()},
            contact=At(reach, self.R_EC[:, 2], self.R_EC, R_WE @ self.R_EC),
            turned=self.R_EB,
            spin_rate=self.spin_rate,
        )
