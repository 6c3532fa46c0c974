"""
Second-order contact kinematics in contact coordinates, by differentiating the first order.

q_ddot = K2(q, w_rel) + K3(q) V_rel_dot, Woodruff & Lynch, Eqs. (3), (39)-(41). V_rel_dot is
(alpha_rel, a_rel): the rate of the object's angular velocity in the hand, and the acceleration in
the hand of the point fixed in the object that is at the contact, both with components in Ch.
Charts need not be orthogonal, and the bodies may slide.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
from rolling_dynamics.contact.first_order_kinematics import (
    contact_rotation,
    first_order_kinematics,
)
from rolling_dynamics.surfaces.surface import LocalGeometry, Surface


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
