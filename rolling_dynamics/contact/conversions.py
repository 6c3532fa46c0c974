"""Exact conversions between the representations of a contact, and separation of its bodies."""

from __future__ import annotations

from functools import lru_cache
import math
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contact.closest_points import closest_points
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.inertia import inertia_of
from rolling_dynamics.rotations import conjugate, product, rotation_matrix
from rolling_dynamics.surfaces.surface import locate_on_chart, Surface
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat

if TYPE_CHECKING:
    from rolling_dynamics.contact.contact_system import ContactSystem


def convert_state(
    source: ContactSystem,
    target: ContactSystem,
    p: ArrayLike,
    x: ArrayLike,
    near_o: ArrayLike | None = None,
) -> Array:
    """
    Return a state in another representation or on other charts of the same bodies.

    Parameters
    ----------
    source, target
        Two systems with the same surfaces.
    p
        Parameters, the same for both.
    x
        State of ``source``.
    near_o
        Chart coordinates that choose the period on the object.

    Returns
    -------
    Array
        State of ``target``; the same poses and velocities to rounding.

    Raises
    ------
    SurfaceError
        The point lies outside the target's chart.

    """
    _check_same_bodies(source, target)
    p, x = np.asarray(p, dtype=float), np.asarray(x, dtype=float)
    view = contact_view(source)
    R_HO, p_HC, r_OC, _, w_rel_H = (np.array(a) for a in view(x, p))
    given, params = source.state.unpack(x), source.parameters.unpack(p)
    values: dict[str, ArrayLike] = {n: given[n] for n in ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H')}
    contact_h = given['contact_h']
    if target.hand_chart != source.hand_chart:
        contact_h = locate_on_chart(
            target.hand_surface, p_HC.ravel(), target.hand_chart, params['hand_surface']
        )
    frame = _frame(target.hand_surface, contact_h, target.hand_chart, params['hand_surface'])
    values['contact_h'] = contact_h
    if 'q_HO' in target.state:
        values['q_HO'] = given['q_HO'] if 'q_HO' in source.state else mat2quat(R_HO)
        values['w_HO_H'] = w_rel_H
        return target.state.pack(**values)
    kept = 'contact_o' in source.state and target.object_chart == source.object_chart
    if kept and near_o is None:
        contact_o = given['contact_o']
    else:
        contact_o = locate_on_chart(
            target.object_surface,
            R_HO.T @ r_OC.ravel(),
            target.object_chart,
            params['object_surface'],
            near_o,
        )
    values['contact_o'], values['w_HO_Ch'] = contact_o, frame.T @ w_rel_H
    psi = _psi(target, contact_o, params['object_surface'], R_HO, frame)
    if kept:  # the same turn as before
        psi += 2 * math.pi * round((float(given['psi'][0]) - psi) / (2 * math.pi))
    values['psi'] = psi
    return target.state.pack(**values)


def to_coordinates(
    system: ContactSystem,
    p: ArrayLike,
    x: ArrayLike,
    *,
    object_chart: int = 0,
    hand_chart: int | None = None,
) -> Array:
    """Return the state in contact coordinates on the given charts."""
    target = system.with_representation(
        'coordinates', object_chart=object_chart, hand_chart=hand_chart
    )
    return convert_state(system, target, p, x)


@lru_cache(maxsize=64)
def contact_view(system: ContactSystem) -> ca.Function:
    """Return ``(x, p) -> R_HO, p_HC, r_OC, R_HCh, w_HO_H``, vectors in H; Ch as in files."""
    e, g = system.expressions, system.expressions.state.geometry
    outputs = [g.R_HO, g.p_HC, g.r_OC, e.frame, e.state.w_HO_H]
    return ca.Function(
        'contact_view',
        [e.x, e.p],
        [ca.densify(o) for o in outputs],
        ['x', 'p'],
        ['R_HO', 'p_HC', 'r_OC', 'R_HCh', 'w_HO_H'],
    )


def _frame(surface: Surface, uv: ArrayLike, chart: int, parameters: ArrayLike) -> Array:
    uv, parameters = np.asarray(uv, dtype=float), np.asarray(parameters, dtype=float)
    return np.array(surface.numeric(chart)(uv, parameters)[1])


def _psi(
    system: ContactSystem, contact_o: ArrayLike, parameters: ArrayLike, R_HO: Array, frame_H: Array
) -> float:
    """Return psi of R_ChCo = [[c, -s, 0], [-s, -c, 0], [0, 0, -1]], Appendix B-B."""
    frame_O = _frame(system.object_surface, contact_o, system.object_chart, parameters)
    R = frame_H.T @ R_HO @ frame_O
    return math.atan2(-R[0, 1] - R[1, 0], R[0, 0] - R[1, 1])


def _check_same_bodies(source: ContactSystem, target: ContactSystem) -> None:
    if (
        source.object_surface is not target.object_surface
        or source.hand_surface is not target.hand_surface
    ):
        raise ParameterError('a state can be converted between systems of the same bodies only')


AFTER = 0.01  # s: time over which the hand is followed
STEPS = 20


def separation(
    system: ContactSystem, p: Array, x: Array, u: Array, u_rate: Array
) -> dict[str, float]:
    """Return the separation; see :class:`rolling_dynamics.contract.capabilities.Separation`."""
    return {
        'acceleration_excess': _excess(system, p, x, u + AFTER * u_rate),
        'gap': _gap_after(system, p, x, u, u_rate),
    }


def _excess(system: ContactSystem, p: Array, x: Array, u: Array) -> float:
    """
    Return a_z,rel - a_z,roll without contact force.

    The force f that rolling would need gives the contact point of the object the acceleration W f,
    with W = 1/m - [r] J^-1 [r]. Without the force, this acceleration is missing.
    """
    params = system.parameters.unpack(p)
    R_HO, _, r, frame, _ = (np.array(v) for v in contact_view(system)(x, p))
    J = R_HO @ inertia_of(params['inertia']) @ R_HO.T
    cross = np.array(ca.skew(ca.DM(r)))
    W = np.eye(3) / params['mass'][0] - cross @ np.linalg.inv(J) @ cross
    wrench = system.mode.wrench
    if wrench is None:
        return 0.0
    f = frame @ np.array(wrench(x, u, 0, p)).ravel()[3:]
    return float(-frame[:, 2] @ W @ f)


def _gap_after(system: ContactSystem, p: Array, x: Array, u: Array, slope: Array) -> float:
    """Return the gap after free flight of the object; the hand's control keeps its rate."""
    params, values = system.parameters.unpack(p), system.state.unpack(x)
    X_WH, X_WO, _ = (np.array(X) for X in system.pose(x, p))
    twist_WO_O = (np.array(v).ravel() for v in system.object_twist(x, p))
    J, h = inertia_of(params['inertia']), AFTER / STEPS
    hand, obj = (
        [X[:3, :3], X[:3, 3], w, X[:3, :3] @ v]
        for X, (w, v) in ((X_WH, (values['w_WH_H'], values['v_WH_H'])), (X_WO, twist_WO_O))
    )
    for k in range(STEPS):
        now = u + slope * (k + 0.5) * h
        w = obj[2]
        _advance(hand, now[:3], hand[0] @ now[3:6], h)
        turns = np.asarray(np.linalg.solve(J, -np.cross(w, J @ w)), dtype=float)
        _advance(obj, turns, params['gravity_W'], h)
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
    e, link = system.expressions, system.machine.links['object']
    R_HF = e.state.joint.R_PE
    attitude = ca.vec(link.R_WB)
    if 'q_HO' in e.values:
        attitude = product(e.values['q_WH'], e.values['q_HO'])
    values = {
        'p_WO': link.p_WB,
        'q_WO': attitude,
        'v_HO_H': -ca.cross(e.state.w_HO_H, e.state.geometry.r_OC),
    }
    for axis, R in (('W', link.R_WF), ('H', R_HF), ('O', link.R_FB.T)):
        values |= {f'v_WO_{axis}': R @ link.v, f'w_WO_{axis}': R @ link.w}
    return ca.Function('object_motion', [e.x, e.p], [ca.densify(values[entry])])


NEWTON_STEPS = 4  # from the contact of the last call; on a plane, one step is exact


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
        Function of pose and twist of hand and object (q (w, x, y, z), p [m] in the world, w
        [rad/s], v [m/s] in the body; 13 components each), chart coordinates and parameters. It
        returns the state, and below it the gap [m], which is projected away, and the remaining
        error of the closest points along the surface [m].

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
