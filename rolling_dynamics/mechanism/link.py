"""A body of a machine with its motion, as the equations see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.mechanism.mass import Moments
from rolling_dynamics.rotations import rate_body, rate_space, rotation_matrix

AXES = ('world', 'body')


class At(NamedTuple):
    """
    Contact of a rolling body, in its axes F.

    Attributes
    ----------
    reach, normal
        Contact from the origin [m], and normal of the parent.
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
    parent. The origin of the body is carried by a point of the parent and moves from there:

        alpha = C alpha_P [if it follows] + turn rates + turn_bias
        a     = C (acceleration of the point of the parent) + move rates + move_bias

    Attributes
    ----------
    R_WB, R_WF
        Attitudes of body and axes.
    p_WB
        Origin in W [m].
    w, v
        Angular velocity [rad/s] and velocity of the origin [m/s], in F.
    C
        Rotation from the axes of the parent to F.
    point
        Point of the parent that carries the body, from the parent's origin, in its axes [m].
    follows
        Whether the body turns with the parent; not where its speeds are absolute.
    turn, move
        What one unit of each speed's rate adds to the accelerations (3, k).
    turn_bias, move_bias
        Accelerations that need no rates.
    rates
        Rates of the entries of the state that belong to the joint, but for those of its speeds.
    contact
        Of a rolling body.
    turned
        Attitude of the body in F, where it is simpler than by R_WB and R_WF.
    spin_rate
        What the rates of the speeds along the normal are where the contact holds the spin.
    solved
        Rates of entries of the speeds, as a matrix times the body's own rates and a vector; empty
        where they are these rates.
    falls
        Entry of the velocity of a body in free fall, relative to which it accelerates.

    """

    R_WB: ca.SX
    R_WF: ca.SX
    p_WB: ca.SX
    w: ca.SX
    v: ca.SX
    C: ca.SX = field(default_factory=lambda: ca.SX.eye(3))
    point: ca.SX = field(default_factory=lambda: ca.SX(3, 1))
    follows: bool = True
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
    moments: Moments = field(
        default_factory=lambda: Moments(ca.SX(1, 1), ca.SX(3, 1), ca.SX(1, 1))
    )

    @property
    def R_FB(self) -> ca.SX:
        """Attitude of the body in F."""
        if self.turned is not None:
            return self.turned
        return ca.SX.eye(3) if self.R_WF is self.R_WB else self.R_WF.T @ self.R_WB


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


def attitude_in(axes: str, q_WB: ca.SX, w: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
    """Return R_WB, R_WF and the rate of the quaternion."""
    R = rotation_matrix(q_WB)
    if axes == 'world':
        return R, ca.SX.eye(3), rate_space(q_WB, w)
    if axes == 'body':
        return R, R, rate_body(q_WB, w)
    raise ParameterError(f'axes must be one of {AXES}, got {axes!r}')
