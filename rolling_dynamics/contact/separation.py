"""
How object and hand part when the contact force has vanished.

Woodruff & Lynch, Section VI: then a_z,rel > a_z,roll, the surfaces accelerate away from each other
more than rolling would need. The hand is taken to go on with the slope of its last controls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.contact.conversions import contact_view, poses_and_twists
from transforms3d.axangles import axangle2mat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

AFTER = 0.01  # s: for so long the hand is followed
STEPS = 20


def separation(
    system: ContactSystem, p: Array, x: Array, u: Array, u_rate: Array
) -> dict[str, float]:
    """Return how the bodies part; see :class:`rolling_dynamics.contract.Separation`."""
    return {
        'acceleration_excess': _excess(system, p, x, u + AFTER * u_rate),
        'gap': _gap_after(system, p, x, u, u_rate),
    }


def _excess(system: ContactSystem, p: Array, x: Array, u: Array) -> float:
    """
    Return a_z,rel - a_z,roll without contact force.

    The force f that rolling would need gives the contact point of the object the acceleration
    W f, W = 1/m - [r] J^-1 [r]: without it, it lacks just that.
    """
    params = system.parameters.unpack(p)
    R_HO, _, r, frame, _ = (np.array(v) for v in contact_view(system)(x, p))
    j = params['inertia']
    J = R_HO @ np.array([[j[0], j[3], j[4]], [j[3], j[1], j[5]], [j[4], j[5], j[2]]]) @ R_HO.T
    cross = np.array(ca.skew(ca.DM(r)))
    W = np.eye(3) / params['mass'][0] - cross @ np.linalg.inv(J) @ cross
    wrench = system.mode.wrench
    if wrench is None:
        return 0.0
    f = frame @ np.array(wrench(x, u, 0, p)).ravel()[3:]
    return float(-frame[:, 2] @ W @ f)


def _gap_after(system: ContactSystem, p: Array, x: Array, u: Array, slope: Array) -> float:
    """Return the gap after free flight of the object and of the hand with its last slope."""
    params = system.parameters.unpack(p)
    poses = poses_and_twists(system, p, x)
    j, h = params['inertia'], AFTER / STEPS
    J = np.array([[j[0], j[3], j[4]], [j[3], j[1], j[5]], [j[4], j[5], j[2]]])
    bodies = []
    for X, (w, v) in (
        (poses.X_WH, poses.twist_WH_H),
        (poses.X_WO, poses.twist_WO_O),
    ):
        bodies.append([X[:3, :3], X[:3, 3], w, X[:3, :3] @ v])
    hand, obj = bodies
    for k in range(STEPS):
        now = u + slope * (k + 0.5) * h
        w = obj[2]
        _advance(hand, now[:3], hand[0] @ now[3:6], h)
        _advance(obj, np.linalg.solve(J, -np.cross(w, J @ w)), params['gravity_W'], h)
    R_HO, p_HO = hand[0].T @ obj[0], hand[0].T @ (obj[1] - hand[1])
    return float(
        closest_points(
            system.object_surface,
            system.hand_surface,
            R_HO,
            p_HO,
            object_parameters=params['object_surface'],
            hand_parameters=params['hand_surface'],
            object_chart=system.object_chart,
            hand_chart=system.hand_chart,
            near=x[system.state.slice('contact_h')],
        ).gap
    )


def _advance(body: list[Array], alpha: Array, a_W: Array, h: float) -> None:
    """Advance attitude, position, angular velocity (own frame) and velocity (W) by a step."""
    R, p, w, v = body
    turn = h * (w + h / 2 * alpha)
    angle = float(np.linalg.norm(turn))
    body[:] = [
        R @ axangle2mat(turn, angle) if angle > 0 else R,
        p + h * v + h * h / 2 * a_W,
        w + h * alpha,
        v + h * a_W,
    ]
