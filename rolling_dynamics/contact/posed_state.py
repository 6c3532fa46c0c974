"""State of the contact as an expression of the poses and twists of both bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
from rolling_dynamics.contact.attitude_representation import support_point
from rolling_dynamics.rotations import conjugate, product, rotation_matrix

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

NEWTON_STEPS = 4  # from the contact of the last call; on a plane one is exact


def posed_state(system: ContactSystem) -> ca.Function:
    """
    Return ``(hand, object, near, p) -> x, gap and error``.

    Newton's method from the chart coordinates ``near`` of the hand, a fixed number of steps, so
    that the result can be differentiated.

    Parameters
    ----------
    system
        A system in the representation ``attitude``.

    Returns
    -------
    casadi.Function
        Of pose and twist of hand and object (q (w, x, y, z), p [m] in the world, w [rad/s],
        v [m/s] in the body; 13 numbers each), chart coordinates and parameters; the state and
        below it the gap [m], which is projected away, and how far along the surface the nearest
        points are still missed [m].

    """
    hand, body = ca.SX.sym('hand', 13), ca.SX.sym('object', 13)
    near, p = ca.SX.sym('near', 2), ca.SX.sym('p', system.parameters.size)
    R_WH = rotation_matrix(hand[:4])
    q_HO = product(conjugate(hand[:4]), body[:4])
    R_HO, p_HO = rotation_matrix(q_HO), R_WH.T @ (body[4:7] - hand[4:7])
    uv = ca.SX.sym('uv', 2)
    geometry = system.hand_surface.geometry(
        uv, p[system.parameters.slice('hand_surface')], system.hand_chart
    )
    normal = geometry.frame[:, 2]
    point_O, _ = support_point(
        system.object_surface, -(R_HO.T @ normal), p[system.parameters.slice('object_surface')]
    )
    apart = p_HO + R_HO @ point_O - geometry.position
    tangential = geometry.frame[:, :2].T @ apart
    step = ca.solve(ca.jacobian(tangential, uv), tangential)
    newton = ca.Function(
        'newton', [uv, hand, body, p], [uv - step, ca.dot(normal, apart), ca.norm_2(tangential)]
    )
    found = near
    for _ in range(NEWTON_STEPS):
        found, *_ = newton(found, hand, body, p)
    _, gap, aside = newton(found, hand, body, p)
    w_rel_H = R_HO @ body[7:10] - hand[7:10]
    values = {
        'q_WH': hand[:4] / ca.norm_2(hand[:4]),
        'p_WH': hand[4:7],
        'q_HO': q_HO / ca.norm_2(q_HO),
        'contact_h': found,
        'w_WH_H': hand[7:10],
        'v_WH_H': hand[10:13],
        'w_HO_H': w_rel_H,
    }
    x = ca.vertcat(*(values[e.name] for e in system.state.entries))
    out = ca.densify(ca.vertcat(x, gap, aside))
    return ca.Function('posed_state', [hand, body, near, p], [out])
