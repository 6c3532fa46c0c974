"""
First-order rolling kinematics in contact coordinates.

The contact coordinates are q = (u_o, v_o, u_h, v_h, psi). Components of relative velocities are in
the contact frame Ch of the hand. Source: Woodruff & Lynch, Eqs. (1), (32)-(34), with Gram-Schmidt
frames in place of orthogonal charts.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
from rolling_dynamics.small_matrices import inverse_2x2
from rolling_dynamics.surfaces.surface import LocalGeometry

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
