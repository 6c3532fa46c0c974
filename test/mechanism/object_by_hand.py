"""Equations of an object that rolls on a moving hand, by Newton and Euler."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.rolling_dynamics import ContactGeometry
from rolling_dynamics.hybrid_contact.equations import (
    Accelerations,
    ContactMotion,
    HandMotion,
    Scene,
)


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


def with_friction(s: Scene, mu_spin: ca.SX, spin_direction: ca.SX, *, pure: bool) -> ContactMotion:
    """
    Return the motion without slip, under friction that grows with the normal force.

    Parameters
    ----------
    s
        Body and hand.
    mu_spin
        Coefficient of spin friction [m].
    spin_direction
        Sign of the spin that friction opposes, 0 where there is no spin friction; of no meaning
        in pure rolling.
    pure
        Whether the contact holds the spin.

    """
    friction = 'pure_rolling' if pure else 'rolling'
    free = rolling_motion(
        s.contact,
        s.hand,
        s.body.w_HO_H,
        mass=s.mass,
        inertia_O=s.inertia_O,
        gravity_H=s.gravity_H,
        friction=friction,
    )
    # a torque at the contact turns the body about it and changes the force by -m alpha x r;
    # both torques of friction grow with the normal force f_z
    r, n = s.contact.r_OC, s.contact.frame[:, 2]
    inertia = s.J + s.mass * (ca.sumsqr(r) * ca.SX.eye(3) - r @ r.T)
    compliance = inverse_symmetric(inertia)
    unit = s.rolling_torque
    if pure:  # the spin stays held
        unit -= n * ca.dot(n, compliance @ unit) / ca.dot(n, compliance @ n)
    else:
        unit -= n * spin_direction * mu_spin
    turn = compliance @ unit
    margin = 1 + s.mass * ca.dot(n, ca.cross(turn, r))
    f_z = ca.dot(n, free.force_H) / margin
    force = free.force_H - f_z * s.mass * ca.cross(turn, r)
    h, p, v = s.hand, s.body.p_HO_H, s.body.v_HO_H
    carried = h.a + ca.cross(h.alpha, p) + ca.cross(h.w, ca.cross(h.w, p) + 2 * v)
    a = Accelerations(free.w_HO_rate + f_z * turn, s.gravity_H + force / s.mass - carried)
    return ContactMotion(a, force, f_z * unit + n * free.spin_torque, margin)
