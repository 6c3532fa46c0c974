"""
Rolling dynamics of an object on a moving hand: accelerations and contact wrench.

Newton's and Euler's equations of the object with the rolling constraint, in closed form; the same
content as Woodruff & Lynch, Eqs. (6)-(12) with the velocity products of docs/errata.md, written
for geometric vectors so that every representation of the state can use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.rotations import skew

FRICTION_MODELS = ('rolling', 'pure_rolling')


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactGeometry:
    """
    Where and how the bodies touch; vectors in the hand frame H, as expressions.

    Attributes
    ----------
    R_HO
        Attitude of the object in the hand.
    p_HC
        Contact point from the hand's origin [m].
    r_OC
        Contact point from the object's centre of mass [m].
    frame
        Contact frame of the hand's chart in use, from it to H; its third column is the normal out
        of the hand.
    v_C
        Velocity of the contact point over the hand [m/s] in rolling, 3 entries.
    n_rate
        Rate of the normal as seen from the hand [1/s].

    """

    R_HO: ca.SX
    p_HC: ca.SX
    r_OC: ca.SX
    frame: ca.SX
    v_C: ca.SX
    n_rate: ca.SX


@dataclass(frozen=True, eq=False, kw_only=True)
class HandMotion:
    """Motion of the hand in H: w_WH [rad/s], alpha_WH [rad/s^2], true a_WH [m/s^2]."""

    w: ca.SX
    alpha: ca.SX
    a: ca.SX


class RollingMotion(NamedTuple):
    """What the rolling dynamics determine."""

    w_HO_rate: ca.SX  # rate of the components of w_HO_H [rad/s^2]
    force_H: ca.SX  # contact force on the object, in H [N]
    spin_torque: ca.SX  # contact torque on the object about the normal [N m]


def rolling_motion(
    contact: ContactGeometry,
    hand: HandMotion,
    w_HO_H: ca.SX,
    *,
    mass: ca.SX,
    inertia_O: ca.SX,
    gravity_H: ca.SX,
    friction: str,
) -> RollingMotion:
    """
    Return relative angular acceleration and contact wrench.

    Parameters
    ----------
    contact
        Geometry of the contact.
    hand
        Motion of the hand.
    w_HO_H
        Relative angular velocity of the object, in H [rad/s].
    mass
        Mass of the object [kg].
    inertia_O
        Its inertia matrix about the centre of mass, in O [kg m^2].
    gravity_H
        Gravity, in H [m/s^2].
    friction
        ``rolling`` (no torque through the contact) or ``pure_rolling`` (no spin about the normal).

    Returns
    -------
    RollingMotion
        Woodruff & Lynch, Eqs. (9)-(12).

    """
    R, r, p, n = contact.R_HO, contact.r_OC, contact.p_HC, contact.frame[:, 2]
    w_o = hand.w + w_HO_H
    # The material points at the contact move alike: differentiating
    #   v_o + w_o x r = v_h + w_h x p   gives   a_o = b - alpha_o x r   with
    b = (
        hand.a
        + ca.cross(hand.alpha, p)
        + ca.cross(hand.w, ca.cross(hand.w, p))
        - ca.cross(w_o, ca.cross(w_o, r))
        - ca.cross(w_HO_H, contact.v_C)  # Eq. (4)
    )
    # Euler about the centre of mass with f = m (a_o - g), in O where the inertia is constant
    r_O, w_O = R.T @ r, R.T @ w_o
    # about the contact J = S - m r r'. Its inverse, Sherman & Morrison, with r'(r x c) = 0 and
    # S - inertia = m r^2 used: nothing cancels where the inertia is far below m r^2
    lever, gyration = ca.cross(r_O, R.T @ (b - gravity_H)), ca.cross(w_O, inertia_O @ w_O)
    square = ca.sumsqr(r_O)
    inverse = inverse_symmetric(inertia_O + mass * square * ca.SX.eye(3))
    along = inverse @ r_O
    least = ca.dot(along, inertia_O @ r_O)
    turned = inverse @ (mass * lever - gyration) - mass * along * (
        ca.dot(along, inertia_O @ lever + square * gyration) / least
    )
    carried = hand.alpha + ca.cross(hand.w, w_HO_H)
    if friction == 'rolling':
        spin_torque = ca.SX(0)
        alpha_o = R @ turned
    else:  # Eq. (5): the rate of w_HO . n vanishes
        n_O = R.T @ n
        wanted = ca.dot(n, carried) - ca.dot(w_HO_H, contact.n_rate)
        column = inverse @ n_O + along * (mass * square * ca.dot(along, n_O) / least)
        spin_torque = (wanted - ca.dot(n_O, turned)) / ca.dot(n_O, column)
        alpha_o = R @ (turned + column * spin_torque)
    force = mass * (b - ca.cross(alpha_o, r) - gravity_H)
    return RollingMotion(alpha_o - carried, force, spin_torque)


def inverse_symmetric(m: ca.SX) -> ca.SX:
    """Return the inverse of a symmetric 3x3 matrix in closed form."""
    a, b, c = m[:, 0], m[:, 1], m[:, 2]
    bc, ca_, ab = ca.cross(b, c), ca.cross(c, a), ca.cross(a, b)
    return ca.horzcat(bc, ca_, ab).T / ca.dot(a, bc)


def object_energy(
    contact: ContactGeometry,
    hand_velocity: ca.SX,
    hand_w: ca.SX,
    w_HO_H: ca.SX,
    height: ca.SX,
    *,
    mass: ca.SX,
    inertia_O: ca.SX,
) -> ca.SX:
    """Return kinetic plus potential energy [J]; ``height`` is -gravity . position [m^2/s^2]."""
    w_o = hand_w + w_HO_H
    v_o = hand_velocity + skew(hand_w) @ contact.p_HC - skew(w_o) @ contact.r_OC
    w_O = contact.R_HO.T @ w_o
    return mass * ca.sumsqr(v_o) / 2 + ca.dot(w_O, inertia_O @ w_O) / 2 + mass * height
