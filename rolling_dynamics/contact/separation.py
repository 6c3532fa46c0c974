"""Poses of hand and object: distance, twist, and the state of a rolling contact."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.contact.conversions import contact_view, poses_and_twists
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.rotations import conjugate, product, rotation_matrix
from transforms3d.axangles import axangle2mat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem

AFTER = 0.01  # s: for so long the hand is followed
STEPS = 20


def separation(
    system: ContactSystem, p: Array, x: Array, u: Array, u_rate: Array
) -> dict[str, float]:
    """Return how bodies part: a :class:`rolling_dynamics.contract.capabilities.Separation`."""
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


@lru_cache(maxsize=64)
def object_motion(system: ContactSystem, entry: str) -> ca.Function:
    """
    Return ``(x, p) -> values`` of an entry; see :class:`rolling_dynamics.contract.CarriedObject`.

    The attitude ``q_WO`` is a quaternion where the representation has one, else a rotation matrix.
    """
    e, g = system.expressions, system.expressions.state.geometry
    R_WH, w_WH = rotation_matrix(e.values['q_WH']), e.values['w_WH_H']
    p_HO = g.p_HC - g.r_OC
    w_H = w_WH + e.state.w_HO_H
    v_rel = -ca.cross(e.state.w_HO_H, g.r_OC)
    v_H = e.values['v_WH_H'] + ca.cross(w_WH, p_HO) + v_rel
    values = {
        'p_WO': lambda: e.values['p_WH'] + R_WH @ p_HO,
        'q_WO': lambda: (
            product(e.values['q_WH'], e.values['q_HO'])
            if 'q_HO' in e.values
            else ca.vec(R_WH @ g.R_HO)
        ),
        'v_WO_W': lambda: R_WH @ v_H,
        'w_WO_W': lambda: R_WH @ w_H,
        'v_WO_H': lambda: v_H,
        'w_WO_H': lambda: w_H,
        'v_WO_O': lambda: g.R_HO.T @ v_H,
        'w_WO_O': lambda: g.R_HO.T @ w_H,
        'v_HO_H': lambda: v_rel,
    }
    return ca.Function('object_motion', [e.x, e.p], [ca.densify(values[entry]())])


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
