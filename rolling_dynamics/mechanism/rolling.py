"""Joints of bodies that roll on a plane of their parent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.mechanism.joints import Joint
from rolling_dynamics.mechanism.link import At, attitude_in, E3, held_by, in_axes, Link
from rolling_dynamics.mechanism.shapes import Shape, Sphere
from rolling_dynamics.rotations import rate_space, rotation_matrix

REST_RATE = 1e-3  # of sqrt(g / r): below, resistance is proportional to the rate of rolling


class PlanePath:
    """
    A regular curve c(s) = (x(s), y(s)) with coordinates (s, d): the point is c(s) + d n(s).

    n is the unit normal to the left of the tangent; d is the distance from the path [m]. A
    bound on d is a tube around the path, which makes a plan follow it.
    """

    def __init__(self, formulas: Sequence[str | float]) -> None:
        """Read two formulas of ``s`` [m]."""
        if isinstance(formulas, str) or len(formulas) != 2:
            raise ParameterError('path: two formulas x, y of s are needed')
        self.formulas = tuple(formulas)
        self.curve(ca.SX.sym('s'))

    def curve(self, s: ca.SX) -> ca.SX:
        """Return c(s)."""
        return ca.vertcat(*(parse_expression(f, {'s': s}) for f in self.formulas))

    def frame(self, s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return the unit tangent, the unit normal, |c'| and the curvature."""
        first = ca.jacobian(self.curve(s), s)
        second = ca.jacobian(first, s)
        speed = ca.norm_2(first)
        tangent = first / speed
        normal = ca.vertcat(-tangent[1], tangent[0])
        return tangent, normal, speed, ca.dot(second, normal) / speed**2

    def point(self, coordinates: ca.SX) -> ca.SX:
        """Return c(s) + d n(s)."""
        s, d = ca.vertsplit(coordinates)
        return self.curve(s) + d * self.frame(s)[1]

    def rates(self, coordinates: ca.SX, velocity: ca.SX) -> ca.SX:
        """Return s' and d' of a point with a velocity; singular at d = 1 / curvature."""
        s, d = ca.vertsplit(coordinates)
        tangent, normal, speed, curvature = self.frame(s)
        along = ca.dot(velocity, tangent) / (speed * (1 - curvature * d))
        return ca.vertcat(along, ca.dot(velocity, normal))

    @cached_property
    def _sampled(self) -> ca.Function:
        s = ca.SX.sym('s')
        tangent, _, speed, _ = self.frame(s)
        return ca.Function('path', [s], [self.curve(s), tangent * speed])

    def samples(self, s: ArrayLike) -> tuple[Array, Array]:
        """Return c(s) [m] and c'(s) [m], shapes (N, 2)."""
        place, slope = self._sampled(np.atleast_1d(np.asarray(s, dtype=float))[None, :])
        return np.array(place).T, np.array(slope).T


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolling(Joint):
    """
    A body that rolls without slipping on the plane z = 0 of its parent.

    No constraint can drift: the state has the contact point on the plane, and the attitude and
    angular velocity of the body, both in W. With ``body`` axes the pivot is the contact, about
    which the body turns. A body that may slip, or that rolls on another surface, needs a Free
    joint and a :class:`Contact` that is ``closed``.

    Attributes
    ----------
    shape
        Surface of the body.
    contact, attitude, speed
        Entries: contact point in the parent (2), unit quaternion q_WB, and angular velocity in
        the axes of the body.
    axes
        ``world`` or ``body``.
    axis
        Only axis of rotation (3), along an axis of W; the attitude is then an angle. Or None.
    path
        Coordinates of the contact point along a path, else None.
    mu
        Coefficient of static friction.
    resistance
        Lever arm of the rolling resistance [m]: its torque is this times the normal force.
    damping
        Torque against the angular velocity relative to the parent, per rad/s [N m s].

    """

    shape: Shape
    contact: Entry
    attitude: Entry
    speed: Entry
    axes: str = 'world'
    axis: Sequence[float] | None = None
    path: PlanePath | None = None
    mu: ca.SX | float = 1.0
    resistance: ca.SX | float = 0.0
    damping: ca.SX | float = 0.0

    configured: ClassVar[tuple[str, ...]] = ('contact', 'attitude')

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        turned = attitude_in(self.axes, at[self.attitude.name], at[self.speed.name], self.axis)
        R_WF, w, place = turned.R_WF, turned.w, at[self.contact.name]
        C = R_WF.T @ parent.R_WF
        R_FP, w_P = R_WF.T @ parent.R_WB, C @ parent.w
        if self.path is not None:
            place = self.path.point(place)
        on_plane = ca.vertcat(place, ca.SX(3 - place.numel(), 1))
        reach, reach_P, passes = self._touch(R_WF.T @ turned.R_WB, R_FP, w - w_P)
        turns, passing = turned.turns, passes[: place.numel()]
        # the point of contact moves over the parent as over the body
        if isinstance(self.shape, Sphere):
            bias = -ca.cross(w_P, ca.cross(w, reach)) - ca.cross(w - w_P, ca.cross(w_P, reach))
        else:
            bias = -ca.cross(w, ca.cross(w, reach)) - ca.cross(w - w_P, R_FP @ passes)
        if self.path is not None:
            passing = self.path.rates(at[self.contact.name], passing)
        own = self.axes == 'body'
        return Link(
            R_WB=turned.R_WB,
            R_WF=R_WF,
            **held_by(
                parent,
                in_axes(parent, on_plane),
                C,
                0 if own else -ca.cross(w, reach),
                -parent.R_WB @ reach_P,
            ),
            pivot=reach if own else ca.SX(3, 1),
            w=w,
            follows=False,
            turn=turns,
            move=ca.SX(*turns.shape) if own else ca.skew(reach) @ turns,
            move_bias=bias + (ca.cross(w, ca.cross(w, reach)) if own else 0),
            rates={self.contact.name: passing, self.attitude.name: turned.rate},
            contact=At(reach, R_FP[:, 2], R_FP, parent.R_WB),
        )

    def _touch(self, R_FB: ca.SX, R_FP: ca.SX, w_PB: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Return the contact from the origin, in F and in P [m], and its velocity in P."""
        if isinstance(self.shape, Sphere):
            r = self.shape.radius
            return -r * R_FP[:, 2], -r * ca.SX(E3), r * ca.cross(R_FP.T @ w_PB, E3)
        given = ca.SX.sym('normal', 3)
        place, seen = self.shape.touch(given), R_FB.T @ R_FP[:, 2]
        motion = ca.jtimes(place, given, -ca.cross(R_FB.T @ w_PB, given))
        place, motion = ca.substitute([place, motion], [given], [seen])
        return R_FB @ place, R_FP.T @ (R_FB @ place), R_FP.T @ (R_FB @ motion)


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
        Entry: unit quaternion q_WB. None leaves it out, if the inertia of the body is the same
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

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of the parent's frame."""
        R = parent.R_WB
        C = ca.SX.eye(3) if parent.R_WF is R else R.T @ parent.R_WF
        rate = ca.vertcat(at[self.speed.name], 0)
        centre = ca.vertcat(at[self.contact.name], self.radius)
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
            **held_by(parent, in_axes(parent, centre), C, rate),
            w=w_P + over,
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
    A body that rolls without slipping on any surface of its parent, with a given contact.

    Expressions are written in the symbols of the entries, which ``Machine.variable`` declares.
    Vectors are in the axes E of the speed.

    Attributes
    ----------
    rates
        Entries of the configuration, with their rates in rolling.
    speed
        Entry: angular velocity of the body relative to the parent.
    R_PE, axes_rate
        Axes E in the frame of the parent, and their angular velocity relative to it.
    place_P
        Position of the contact in the frame of the parent [m].
    R_EB, reach
        Attitude of the body, and position of the contact from its origin [m].
    R_EC
        Axes of the contact, z along the normal out of the parent.
    passing
        Velocity of the contact over the parent [m/s].
    spin_rate
        Rate of the speed along the normal if the contact resists spin, else None.
    mu, mu_spin
        Coefficient of static friction, and of spin friction [m].
    resisting
        Torque of rolling resistance over the normal force (3) [m], else None.

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
    mu_spin: ca.SX | float = 0.0
    resisting: ca.SX | None = None

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Entries of the state for the configuration of the body."""
        return tuple(self.rates)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of its speed."""
        E, w, reach = self.R_PE, at[self.speed.name], self.reach
        R_WE, centre = parent.R_WB @ E, in_axes(parent, self.place_P - E @ reach)
        C = E.T if parent.R_WF is parent.R_WB else R_WE.T @ parent.R_WF
        w_P, v, turning = C @ parent.w, -ca.cross(w, reach), ca.cross(self.axes_rate, w)
        return Link(
            R_WB=R_WE @ self.R_EB,
            R_WF=R_WE,
            **held_by(parent, centre, C, v),
            w=w_P + w,
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
