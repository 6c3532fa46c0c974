"""Kinematics of one body that rolls on another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.rotations import inverse_2x2
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
    p_OC, r_OC
        Contact point from the object's centre of mass, in O and in H [m].
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
    p_OC: ca.SX
    r_OC: ca.SX
    frame: ca.SX
    v_C: ca.SX
    n_rate: ca.SX


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
