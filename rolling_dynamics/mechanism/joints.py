"""Joints: how a body moves on its parent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.mechanism.link import attitude_in, held_by, in_axes, Link
from rolling_dynamics.rotations import rotation_about


class Joint(ABC):
    """
    Motion of a body on its parent.

    Attributes
    ----------
    configured, moving
        Names of the fields with the entries of configuration and speeds, if not None.

    """

    configured: ClassVar[tuple[str, ...]] = ('attitude',)
    moving: ClassVar[tuple[str, ...]] = ('speed',)

    @property
    def configuration(self) -> tuple[Entry, ...]:
        """Entries of the state for the configuration of the body."""
        entries = (getattr(self, name) for name in self.configured)
        return tuple(entry for entry in entries if entry is not None)

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Entries of the speeds, for whose rates the equations are solved."""
        return tuple(getattr(self, name) for name in self.moving)

    @abstractmethod
    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, without its mass; ``at`` has the entries by name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Spherical(Joint):
    """
    A ball joint; attitude and angular velocity of the body are those in W.

    Attributes
    ----------
    attitude, speed
        Entries: unit quaternion q_WB, and angular velocity in the axes of the body.
    axes
        ``world`` or ``body``: axes in which the body's vectors are expressed. World suits a body
        whose inertia is the same about all axes, or all but one.
    place
        Position of the joint in the frame of the parent (3) [m].

    """

    attitude: Entry
    speed: Entry
    axes: str = 'world'
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        turned = attitude_in(self.axes, at[self.attitude.name], at[self.speed.name])
        C = turned.R_WF.T @ parent.R_WF
        return Link(
            R_WB=turned.R_WB,
            R_WF=turned.R_WF,
            **held_by(parent, in_axes(parent, self.place), C),
            w=turned.w,
            follows=False,
            turn=turned.turns,
            move=ca.SX(3, 3),
            rates={self.attitude.name: turned.rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Revolute(Joint):
    """
    A hinge; the frames of body and parent have the same axes where its angle is zero.

    Attributes
    ----------
    angle, speed
        Entries: angle [rad] and its rate.
    axis
        Unit vector in the frame of the parent (3).
    place
        Position of the joint in the frame of the parent (3) [m].

    """

    angle: Entry
    speed: Entry
    axis: Sequence[float]
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    configured: ClassVar[tuple[str, ...]] = ('angle',)

    @classmethod
    def named(
        cls, name: str, axis: Sequence[float], place: ca.SX | Sequence[float] = (0, 0, 0)
    ) -> Revolute:
        """Return a hinge with the entries ``name`` and ``name_rate``; see the attributes."""
        angle = Entry(name, (name,), 'rad', kind='angle')
        rate = Entry(f'{name}_rate', (f'{name}_rate',), 'rad/s')
        return cls(angle=angle, speed=rate, axis=axis, place=place)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in its own axes."""
        angle, rate = at[self.angle.name], at[self.speed.name]
        axis = ca.SX(ca.sparsify(ca.DM(self.axis)))
        R_PB = rotation_about(axis, angle)
        R_WB = parent.R_WB @ R_PB
        C = R_PB.T if parent.R_WF is parent.R_WB else R_WB.T @ parent.R_WF
        w_P = C @ parent.w
        return Link(
            R_WB=R_WB,
            R_WF=R_WB,
            **held_by(parent, in_axes(parent, self.place), C),
            w=w_P + rate * axis,
            turn=axis,
            move=ca.SX(3, 1),
            turn_bias=rate * ca.cross(w_P, axis),
            rates={self.angle.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Prismatic(Joint):
    """
    A slide: the body moves along an axis and turns with the parent.

    Attributes
    ----------
    travel, speed
        Entries: travel [m] and its rate.
    axis
        Unit vector in the frame of the parent (3).
    place
        Position of the body's origin in the frame of the parent at zero travel (3) [m].

    """

    travel: Entry
    speed: Entry
    axis: Sequence[float]
    place: ca.SX | ca.DM | Sequence[float] = (0.0, 0.0, 0.0)

    configured: ClassVar[tuple[str, ...]] = ('travel',)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in the axes of the parent."""
        axis, rate = in_axes(parent, self.axis), at[self.speed.name]
        place = in_axes(parent, self.place) + at[self.travel.name] * axis
        return Link(
            R_WB=parent.R_WB,
            R_WF=parent.R_WF,
            **held_by(parent, place, ca.SX.eye(3), rate * axis),
            w=parent.w,
            turn=ca.SX(3, 1),
            move=axis,
            move_bias=2 * rate * ca.cross(parent.w, axis),
            rates={self.travel.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Free(Joint):
    """
    A free body: its position, attitude and velocities are those in W.

    Attributes
    ----------
    position, attitude, velocity, speed
        Entries: origin in W, unit quaternion q_WB, velocity of the origin in W, and angular
        velocity in the axes of the body.
    axes
        ``world`` or ``body``.
    velocity_axes
        Axes of the velocity entry: ``world``, or ``own`` for the axes of the body.

    """

    position: Entry
    attitude: Entry
    velocity: Entry
    speed: Entry
    axes: str = 'body'
    velocity_axes: str = 'world'

    configured: ClassVar[tuple[str, ...]] = ('position', 'attitude')
    moving: ClassVar[tuple[str, ...]] = ('velocity', 'speed')

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:  # noqa: ARG002
        """Return the body; its parent is the ground."""
        velocity, own = at[self.velocity.name], self.velocity_axes == 'own'
        turned = attitude_in(self.axes, at[self.attitude.name], at[self.speed.name])
        R_WB, R_WF, w = turned.R_WB, turned.R_WF, turned.w
        v, R_FV = (velocity, ca.SX.eye(3)) if own else (R_WF.T @ velocity, R_WF.T)
        return Link(
            R_WB=R_WB,
            R_WF=R_WF,
            p_WB=at[self.position.name],
            w=w,
            v=v,
            follows=False,
            turn=ca.horzcat(ca.SX(3, 3), ca.SX.eye(3)),
            move=ca.horzcat(R_FV, ca.SX(3, 3)),
            move_bias=ca.cross(w, v) if own else ca.SX(3, 1),
            rates={
                self.position.name: R_WF @ v if own else velocity,
                self.attitude.name: turned.rate,
            },
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Flying(Free):
    """
    A body in free fall over its parent, which is the ground or a driven body on it.

    Position and attitude are those in the parent, and the velocity is their rate in its axes. The
    equations are solved for the acceleration of the origin relative to free fall, which is due to
    contact forces alone, and for the angular acceleration, both in the axes of the body.

    Attributes
    ----------
    axes
        Axes of the entry of the angular velocity: ``world`` for the parent's, or ``body``.
    axis
        Only axis of rotation (3), an axis of the parent or its reverse; the body moves in the
        plane normal to it. The attitude is then an angle with ``body`` axes. None in space.

    """

    axes: str = 'world'
    axis: Sequence[float] | None = None

    @property
    def plane(self) -> list[int]:
        """Axes of the parent, by number, along which the body moves."""
        return [k for k in range(3) if self.axis is None or not self.axis[k]]

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body over its parent."""
        turned = attitude_in(self.axes, at[self.attitude.name], at[self.speed.name], self.axis)
        along = ca.SX.eye(3)[:, self.plane]
        R, T, w_P = turned.R_WB, turned.turns, parent.w
        p, v = (along @ at[e.name] for e in (self.position, self.velocity))
        point, plane, turns = p - parent.pivot, along.shape[1], T.shape[1]
        swept = ca.cross(w_P, point)
        moved = parent.move_bias + ca.cross(parent.turn_bias, point)
        moved += ca.cross(w_P, swept + 2 * v)
        if self.axes == 'body':
            w_F, alpha_F, A = R.T @ w_P, R.T @ parent.turn_bias, ca.SX.eye(turns)
            w, spun = w_F + turned.w, T.T @ (alpha_F + ca.cross(w_F, turned.w))
        else:
            w, spun, A = R.T @ (w_P + turned.w), parent.turn_bias + ca.cross(w_P, turned.w), R
        R_WB = parent.R_WB @ R
        return Link(
            R_WB=R_WB,
            R_WF=R_WB,
            p_WB=parent.p_WB + parent.R_WF @ p,
            w=w,
            v=R.T @ (parent.v + swept + v),
            follows=False,
            turn=ca.horzcat(ca.SX(3, plane), T),
            move=ca.horzcat(along, ca.SX(3, turns)),
            rates={self.position.name: at[self.velocity.name], self.attitude.name: turned.rate},
            solved={
                self.velocity.name: (
                    ca.horzcat(along.T @ R @ along, ca.SX(plane, turns)),
                    -along.T @ moved,
                ),
                self.speed.name: (ca.horzcat(ca.SX(A.shape[0], plane), A), -spun),
            },
            falls=self.velocity.name,
        )

    def about_centre(self, parent: Link, link: Link) -> Link:
        """
        Return a body whose origin is its centre of mass, with speeds along axes of the parent.

        Its inertia is the same along all axes, and rotation does not move the origin.
        """
        name, plane = self.velocity.name, len(self.plane)
        along = (link.R_WF.T @ parent.R_WF)[:, self.plane]
        solved, turns = link.solved[name], link.turn.shape[1] - plane
        own = ca.horzcat(ca.SX.eye(plane), ca.SX(plane, turns))
        move = ca.horzcat(along, ca.SX(3, turns))
        return replace(link, move=move, even=plane, solved={**link.solved, name: (own, solved[1])})


@dataclass(frozen=True, eq=False, kw_only=True)
class Custom(Joint):
    """
    A joint whose pose is a function of its coordinates, such as a cam, a curve or a linkage.

    Attributes
    ----------
    coordinates, speed
        Entries: coordinates (n), declared by ``Machine.variable``, and their rates (n).
    R_PB, p_PB
        Attitude (3, 3) and origin (3) [m] of the body in the parent, written in the symbol of the
        coordinates.

    """

    coordinates: Entry
    speed: Entry
    R_PB: ca.SX
    p_PB: ca.SX

    configured: ClassVar[tuple[str, ...]] = ('coordinates',)

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent, in its own axes."""
        q, rate = at[self.coordinates.name], at[self.speed.name]
        W = self.R_PB.T @ ca.reshape(ca.jtimes(ca.vec(self.R_PB), q, rate), 3, 3)
        over, passing = ca.vertcat(W[2, 1], W[0, 2], W[1, 0]), ca.jtimes(self.p_PB, q, rate)
        R_WB = parent.R_WB @ self.R_PB
        C = self.R_PB.T if parent.R_WF is parent.R_WB else R_WB.T @ parent.R_WF
        R, w_P = R_WB.T @ parent.R_WB, C @ parent.w
        moving = R @ passing
        return Link(
            R_WB=R_WB,
            R_WF=R_WB,
            **held_by(parent, in_axes(parent, self.p_PB), C, moving),
            w=w_P + over,
            turn=ca.jacobian(over, rate),
            move=R @ ca.jacobian(passing, rate),
            turn_bias=ca.cross(w_P, over) + ca.jtimes(over, q, rate),
            move_bias=2 * ca.cross(w_P, moving) + R @ ca.jtimes(passing, q, rate),
            rates={self.coordinates.name: rate},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Guided(Joint):
    """
    A body with a prescribed translation in its parent, without relative rotation.

    Attributes
    ----------
    place, rate, acceleration
        Position of its origin in the frame of the parent (3) [m], and derivatives there.

    """

    place: ca.SX
    rate: ca.SX
    acceleration: ca.SX

    configured: ClassVar[tuple[str, ...]] = ()
    moving: ClassVar[tuple[str, ...]] = ()

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:  # noqa: ARG002
        """Return the body on its parent, in the axes of the parent."""
        rate = in_axes(parent, self.rate)
        return Link(
            R_WB=parent.R_WB,
            R_WF=parent.R_WF,
            **held_by(parent, in_axes(parent, self.place), ca.SX.eye(3), rate),
            w=parent.w,
            rides=True,
            move_bias=2 * ca.cross(parent.w, rate) + in_axes(parent, self.acceleration),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Driven(Joint):
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
        """Configuration and speeds of the joint; the equations are solved for neither of them."""
        return *self.joint.configuration, *self.joint.speeds

    @property
    def speeds(self) -> tuple[Entry, ...]:
        """Nothing."""
        return ()

    def link(self, parent: Link, at: Mapping[str, ca.SX]) -> Link:
        """Return the body on its parent."""
        inner, k = self.joint.link(parent, at), 0
        rates = dict(inner.rates)
        s = ca.vertcat(*(at[entry.name] for entry in self.joint.speeds))
        for entry in self.joint.speeds:
            rates[entry.name] = self.rates[k : k + entry.size]
            k += entry.size
        return replace(
            inner,
            turn=ca.SX(3, 0),
            move=ca.SX(3, 0),
            turn_bias=inner.turn_bias + ca.jtimes(inner.w, s, self.rates),
            move_bias=inner.move_bias + ca.jtimes(inner.v, s, self.rates),
            rates=rates,
        )
