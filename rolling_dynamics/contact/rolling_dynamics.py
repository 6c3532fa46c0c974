"""Kinematics and dynamics of one body that rolls on another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.rotations import inverse_2x2, skew
from rolling_dynamics.surfaces.surface import LocalGeometry, Surface

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


E1 = ca.DM([[0, -1], [1, 0]])


class RollingKinematics(NamedTuple):
    """q_dot = rolling w_rel + sliding v_rel, Eq. (32) and its sliding counterpart."""

    rolling: ca.SX  # K1, 5x3
    sliding: ca.SX  # 5x2, of (v_x, v_y) of the object over the hand


def contact_rotation(psi: ca.SX) -> ca.SX:
    """Return R_psi (2x2), Appendix B-B: components in Co become components in Ch, and back."""
    c, s = ca.cos(psi), ca.sin(psi)
    return ca.vertcat(ca.horzcat(c, -s), ca.horzcat(-s, -c))


def contact_frame_rotation(psi: ca.SX) -> ca.SX:
    """Return R_ChCo (3x3): R_psi, and opposite normals."""
    return ca.diagcat(contact_rotation(psi), -1)


def relative_curvature(object_: LocalGeometry, hand: LocalGeometry, psi: ca.SX) -> ca.SX:
    """Return H~_o + H_h (2x2) in Ch; negative definite where two bodies touch in one point."""
    R = contact_rotation(psi)
    return R @ object_.curvature @ R + hand.curvature


def first_order_kinematics(
    object_: LocalGeometry, hand: LocalGeometry, psi: ca.SX
) -> RollingKinematics:
    """
    Return the matrices of q_dot = K1 w_rel + K1s (v_x, v_y).

    Parameters
    ----------
    object_, hand
        Geometry at the contact point.
    psi
        Angle of spin between the contact frames [rad].

    Returns
    -------
    RollingKinematics
        Woodruff & Lynch, Eq. (32).

    """
    R = contact_rotation(psi)
    H_o = R @ object_.curvature @ R
    inverse = inverse_2x2(H_o + hand.curvature)
    # velocity of the contact point over the hand and over the object, both in Ch
    over_hand = inverse @ E1, inverse @ H_o
    over_object = over_hand[0], over_hand[1] - ca.SX.eye(2)
    blocks = []
    for c_hand, c_object in zip(over_hand, over_object, strict=True):
        K_o = inverse_2x2(object_.scale) @ R @ c_object
        K_h = inverse_2x2(hand.scale) @ c_hand
        blocks.append(ca.vertcat(K_o, K_h, object_.connection @ K_o + hand.connection @ K_h))
    spin = ca.vertcat(ca.SX(4, 1), -1)
    return RollingKinematics(ca.horzcat(blocks[0], spin), blocks[1])


@lru_cache(maxsize=32)
def second_order_kinematics(
    object_surface: Surface, hand_surface: Surface, object_chart: int = 0, hand_chart: int = 0
) -> ca.Function:
    """
    Return the second-order kinematics of two surfaces.

    Parameters
    ----------
    object_surface, hand_surface
        The surfaces.
    object_chart, hand_chart
        Their charts.

    Returns
    -------
    casadi.Function
        ``(q, w_rel, v_rel, object_parameters, hand_parameters) -> K1, K1s, K2, K3, a_roll,
        alpha_z_pr``. q is (u_o, v_o, u_h, v_h, psi); w_rel [rad/s] and the sliding velocity v_rel
        (v_x, v_y) [m/s] have components in Ch. K1 (5x3) and K1s (5x2) give
        q_dot = K1 w_rel + K1s v_rel; K2 has 5 entries, K3 is 5x6. ``a_roll`` is the a_rel that
        keeps v_rel and the contact, Eqs. (4), (42); ``alpha_z_pr`` the alpha_z that keeps the spin
        w_z, Eqs. (5), (46).

    """
    q, w, v = ca.SX.sym('q', 5), ca.SX.sym('w', 3), ca.SX.sym('v', 2)
    op = ca.SX.sym('op', object_surface.parameters.numel())
    hp = ca.SX.sym('hp', hand_surface.parameters.numel())
    obj = object_surface.geometry(q[0:2], op, object_chart)
    hand = hand_surface.geometry(q[2:4], hp, hand_chart)
    first = first_order_kinematics(obj, hand, q[4])
    q_rate = first.rolling @ w + first.sliding @ v
    w_frame = _frame_rate(hand, q_rate[2:4])
    # rates of the components in Ch, beside those of alpha_rel and a_rel
    w_turning = -ca.cross(w_frame, w)
    over_object = ca.vertcat(contact_rotation(q[4]) @ obj.scale @ q_rate[0:2], 0)
    v_turning = ca.cross(w, over_object) - ca.cross(w_frame, ca.vertcat(v, 0))
    K2 = ca.jtimes(q_rate, q, q_rate) + first.rolling @ w_turning + first.sliding @ v_turning[0:2]
    K3 = ca.horzcat(first.rolling, first.sliding, ca.SX(5, 1))
    outputs = [first.rolling, first.sliding, K2, K3, -v_turning, -w_turning[2]]
    return ca.Function(
        'second_order_kinematics',
        [q, w, v, op, hp],
        [ca.densify(o) for o in outputs],
        ['q', 'w_rel', 'v_rel', 'object_parameters', 'hand_parameters'],
        ['K1', 'K1s', 'K2', 'K3', 'a_roll', 'alpha_z_pr'],
    )


def _frame_rate(hand: LocalGeometry, rate: ca.SX) -> ca.SX:
    """Return the angular velocity of Ch in the hand, in Ch, as the contact moves."""
    bend = hand.curvature @ (hand.scale @ rate)
    return ca.vertcat(bend[1], -bend[0], hand.connection @ rate)
