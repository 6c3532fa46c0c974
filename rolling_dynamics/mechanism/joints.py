"""Joints: how a body moves on its parent. Rolling is one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import casadi as ca
from rolling_dynamics.contract.layout import Entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.link import Link
from rolling_dynamics.mechanism.shapes import Shape, Sphere
from rolling_dynamics.rotations import rate_body, rate_space, rotation_matrix

AXES = ('world', 'body')
REST_RATE = 1e-3  # rolling slower than this fraction of sqrt(g / r) is resisted in proportion


class Joint(Protocol):
    """
    How a body moves on its parent.

    Attributes
    ----------
    configuration, speeds
        Entries of the state; the rates of the speeds are what the equations are solved for.

    """

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Entries of the state that say where the body is."""
        ...

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Entries of the state that say how it moves."""
        ...

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, without its mass; ``at`` has the entries by name."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Spherical:
    """
    A ball joint; attitude and angular velocity of the body are those in W.

    Attributes
    ----------
    attitude, speed
        Entries: unit quaternion q_WB, and angular velocity in the axes of the body.
    axes
        ``world`` or ``body``: in which the body's vectors are expressed. World for a body whose
        inertia is the same about all axes, or all but one.
    place
        Of the joint in the frame of the parent (3) [m].

    """

    attitude: Entry
    speed: Entry
    axes: str = 'world'
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Attitude."""
        return (self.attitude,)

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Angular velocity."""
        return (self.speed,)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        R_WB, R_WF, rate = _attitude(self.axes, at[self.attitude.name], at[self.speed.name])
        C, point = R_WF.T @ parent.R_WF, _in_axes(parent, self.place)
        return Link(
            R_WB=R_WB,
            R_WF=R_WF,
            p_WB=parent.p_WB + parent.R_WF @ point,
            w=at[self.speed.name],
            v=C @ (parent.v + ca.cross(parent.w, point)),
            C=C,
            point=point,
            follows=False,
            turn=ca.SX.eye(3),
            move=ca.SX(3, 3),
            rates={self.attitude.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Rolling:
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

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Contact point and attitude."""
        return self.contact, self.attitude

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Angular velocity."""
        return (self.speed,)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        w = at[self.speed.name]
        R_WB, R_WF, rate = _attitude(self.axes, at[self.attitude.name], w)
        C = R_WF.T @ parent.R_WF
        R_FP = R_WF.T @ parent.R_WB
        normal = R_FP[:, 2]
        reach, reach_rate = self._reach(R_WF.T @ R_WB, normal, w - C @ parent.w)
        point = _in_axes(parent, ca.vertcat(at[self.contact.name], 0))
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
            contact=(reach, normal),
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
class Revolute:
    """
    A hinge; the frames of body and parent have the same axes where its angle is zero.

    Attributes
    ----------
    angle, speed
        Entries: angle [rad] and its rate.
    axis
        Unit vector in the frame of the parent (3).
    place
        Of the joint in the frame of the parent (3) [m].

    """

    angle: Entry
    speed: Entry
    axis: Sequence[float]
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Angle."""
        return (self.angle,)

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Rate of the angle."""
        return (self.speed,)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in axes of its own."""
        axis, angle, rate = ca.SX(ca.DM(self.axis)), at[self.angle.name], at[self.speed.name]
        turned = ca.skew(axis)
        R_PB = ca.SX.eye(3) + ca.sin(angle) * turned + (1 - ca.cos(angle)) * (turned @ turned)
        point = _in_axes(parent, self.place)
        R_WB = parent.R_WB @ R_PB
        C = R_PB.T if parent.R_WF is parent.R_WB else R_WB.T @ parent.R_WF
        w_P = C @ parent.w
        return Link(
            R_WB=R_WB,
            R_WF=R_WB,
            p_WB=parent.p_WB + parent.R_WF @ point,
            w=w_P + rate * axis,
            v=C @ (parent.v + ca.cross(parent.w, point)),
            C=C,
            point=point,
            turn=axis,
            move=ca.SX(3, 1),
            turn_bias=rate * ca.cross(w_P, axis),
            rates={self.angle.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Prismatic:
    """
    A slide: the body moves along an axis and turns with the parent.

    Attributes
    ----------
    travel, speed
        Entries: travel [m] and its rate.
    axis
        Unit vector in the frame of the parent (3).
    place
        Of the body's origin in the frame of the parent where the travel is zero (3) [m].

    """

    travel: Entry
    speed: Entry
    axis: Sequence[float]
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Travel."""
        return (self.travel,)

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Rate of the travel."""
        return (self.speed,)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of the parent."""
        axis, rate = _in_axes(parent, self.axis), at[self.speed.name]
        point = _in_axes(parent, self.place) + at[self.travel.name] * axis
        return Link(
            R_WB=parent.R_WB,
            R_WF=parent.R_WF,
            p_WB=parent.p_WB + parent.R_WF @ point,
            w=parent.w,
            v=parent.v + ca.cross(parent.w, point) + rate * axis,
            point=point,
            turn=ca.SX(3, 1),
            move=axis,
            move_bias=2 * rate * ca.cross(parent.w, axis),
            rates={self.travel.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Free:
    """
    A body that nothing carries: its position, attitude and velocities are those in W.

    Attributes
    ----------
    position, attitude, velocity, speed
        Entries: origin in W, unit quaternion q_WB, velocity of the origin in W, and angular
        velocity in the axes of the body.
    axes
        ``world`` or ``body``.

    """

    position: Entry
    attitude: Entry
    velocity: Entry
    speed: Entry
    axes: str = 'body'

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Position and attitude."""
        return self.position, self.attitude

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Velocity and angular velocity."""
        return self.velocity, self.speed

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:  # noqa: ARG002
        """Return the body; its parent is the ground."""
        w, v_W = at[self.speed.name], at[self.velocity.name]
        R_WB, R_WF, rate = _attitude(self.axes, at[self.attitude.name], w)
        return Link(
            R_WB=R_WB,
            R_WF=R_WF,
            p_WB=at[self.position.name],
            w=w,
            v=R_WF.T @ v_W,
            follows=False,
            turn=ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)),
            move=ca.horzcat(R_WF.T, ca.SX(3, 3)),
            rates={self.position.name: v_W, self.attitude.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Driven:
    """
    A joint whose motion is prescribed: the rates of its speeds are given, such as by a control.

    Attributes
    ----------
    joint
        The joint.
    rates
        Rates of its speeds, in their order.

    """

    joint: Joint
    rates: ca.SX

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Configuration and speeds of the joint: the equations are solved for neither."""
        return *self.joint.configuration, *self.joint.speeds

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Nothing."""
        return ()

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        inner, k = self.joint.link(parent, at), 0
        rates = dict(inner.rates)
        for entry in self.joint.speeds:
            rates[entry.name] = self.rates[k : k + entry.size]
            k += entry.size
        return replace(
            inner,
            turn=ca.SX(3, 0),
            move=ca.SX(3, 0),
            turn_bias=inner.turn_bias + inner.turn @ self.rates,
            move_bias=inner.move_bias + inner.move @ self.rates,
            rates=rates,
        )


def _in_axes(parent: Link, place: ca.SX | ca.DM | Sequence[float]) -> ca.SX:
    """Return a vector of the parent's frame in the parent's axes."""
    vector = ca.SX(place if isinstance(place, (ca.SX, ca.DM)) else ca.DM(place))
    if parent.R_WF is parent.R_WB:
        return vector
    return parent.R_WF.T @ parent.R_WB @ vector


def _attitude(axes: str, q_WB: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return R_WB, R_WF and the rate of the quaternion."""
    R = rotation_matrix(q_WB)
    if axes == 'world':
        return R, ca.SX.eye(3), rate_space(q_WB, w)
    if axes == 'body':
        return R, R, rate_body(q_WB, w)
    raise ParameterError(f'axes must be one of {AXES}, got {axes!r}')
