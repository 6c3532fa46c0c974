"""Closest points of a body and a hand: layouts, where they are, and how they move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.equations import HAND_CONFIGURATION, HAND_VELOCITY
from rolling_dynamics.contact.representation import support_point
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    number_entry,
    quaternion_entry,
    vector_entry,
)
from rolling_dynamics.friction import LEVER_ARM, MU, MU_KINETIC, MU_SPIN, RESISTANCE
from rolling_dynamics.mechanism import Flying
from rolling_dynamics.mechanism.loops import closest_point
from rolling_dynamics.rotations import inverse_2x2, rotation_matrix
from rolling_dynamics.surfaces.surface import Surface

STATE = Layout(
    (
        *HAND_CONFIGURATION,
        quaternion_entry('q_HO', 'attitude of the object in the hand'),
        vector_entry('p_HO_H', 'm', 'H', 'centre of mass of the object in the hand'),
        *HAND_VELOCITY,
        vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand'),
        vector_entry('v_HO_H', 'm/s', 'H', 'velocity of the centre of mass in the hand'),
    )
)
FOOT = Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', text='closest point of the hand')
LOOKED = vector_entry('looked', 'm', 'H', 'where closest points were looked for last')
DEFAULTS = {'rolling_resistance': (0.0,), 'restitution': (0.0,), LOOKED.name: (0.0, 0.0, 0.0)}
_named = {e.name: e for e in STATE.entries}
FLYING = Flying(
    position=_named['p_HO_H'],
    attitude=_named['q_HO'],
    velocity=_named['v_HO_H'],
    speed=_named['w_HO_H'],
)


def friction_parameters(*, dry: bool) -> tuple[Entry, ...]:
    """Return the parameters of the contact, of one with dry rolling resistance if wanted."""
    text = 'fraction of the work of compression that a landing gives back'
    restitution = number_entry('restitution', '', text, 'zero or positive')
    return MU, MU_KINETIC, MU_SPIN, RESISTANCE, *((LEVER_ARM,) if dry else ()), restitution


def state_over(places: int) -> Layout:
    """Return the state over a hand that is not a plane, with its closest points."""
    more = [
        Entry(f'contact_{k}', (f'u_{k}', f'v_{k}'), 'chart', 'hand', text='the next closest point')
        for k in range(2, places + 1)
    ]
    return Layout((*STATE.entries, FOOT, *more), {e.name: (0.0, 0.0) for e in more})


def feet_in(state: Layout) -> list[str]:
    """Return the entries of the closest points of a hand."""
    return [e.name for e in state.entries if e.unit == FOOT.unit]


class Foot(NamedTuple):
    """
    A closest point of the hand, in H.

    Attributes
    ----------
    uv, uv_rate
        Its coordinates, and their rates [1/s].
    p_HC
        Closest point of the hand [m].
    r_OC, r_rate
        Closest point of the body from its origin [m], and its rate as seen from the hand [m/s].
    p_OC
        The same in the frame of the body [m].
    frame, w_frame
        Contact frame Ch of the hand, z along the normal, and its angular velocity over the hand,
        in Ch [rad/s].
    step
        By how much uv must change so that it is the closest point, to first order.
    margin
        Positive where the closest point is one for itself and the chart regular.

    """

    uv: ca.SX
    uv_rate: ca.SX
    p_HC: ca.SX
    r_OC: ca.SX
    r_rate: ca.SX
    p_OC: ca.SX
    frame: ca.SX
    w_frame: ca.SX
    step: ca.SX
    margin: ca.SX


def on_plane(body: Surface, x: Mapping[str, ca.SX], p: Mapping[str, ca.SX]) -> Foot:
    """Return the closest point on the plane z = 0 of H."""
    R, n, w = rotation_matrix(x['q_HO']), ca.SX(ca.DM([0, 0, 1])), x['w_HO_H']
    p_OC, radii = support_point(body, -R[2, :].T, p['object_surface'])
    r_OC = R @ p_OC
    r_rate = ca.cross(w, r_OC) + R @ (radii @ (R.T @ ca.cross(w, n)))
    lowest = x['p_HO_H'] + r_OC
    return Foot(
        uv=lowest[0:2],
        uv_rate=(x['v_HO_H'] + r_rate)[0:2],
        p_HC=ca.vertcat(lowest[0:2], 0),
        r_OC=r_OC,
        r_rate=r_rate,
        p_OC=p_OC,
        frame=ca.SX.eye(3),
        w_frame=ca.SX(3, 1),
        step=ca.SX.zeros(2),
        margin=ca.SX(1),
    )


def on_surface(
    body: Surface,
    hand_surface: Surface,
    uv: ca.SX,
    x: Mapping[str, ca.SX],
    params: Mapping[str, ca.SX],
) -> Foot:
    """
    Return the closest point on any surface, at coordinates that the state holds.

    Its rates are those of a point that is the closest one: the point of the hand moves along its
    tangents by s, the normal by -H s, the point of the body by its turn and by the turn of the
    normal in it; that their distance stays along the normal gives s.
    """
    w, v, R = x['w_HO_H'], x['v_HO_H'], rotation_matrix(x['q_HO'])
    hand = hand_surface.geometry(uv, params['hand_surface'])
    tangent, n = hand.frame[:, :2], hand.frame[:, 2]
    point, radii = support_point(body, -(R.T @ n), params['object_surface'])
    r = R @ point
    way = x['p_HO_H'] + r - hand.position
    at, gap, T = closest_point(hand, uv, way), ca.dot(n, way), R.T @ tangent
    K, turning = T.T @ radii @ T, tangent.T @ ca.cross(w, n)
    s = inverse_2x2(ca.SX.eye(2) - (K + gap * ca.SX.eye(2)) @ hand.curvature) @ (
        tangent.T @ (v + ca.cross(w, r)) + K @ turning
    )
    uv_rate, bend = inverse_2x2(hand.scale) @ s, hand.curvature @ s
    return Foot(
        uv=uv,
        uv_rate=uv_rate,
        p_HC=hand.position,
        r_OC=r,
        r_rate=ca.cross(w, r) + R @ (radii @ (T @ (bend + turning))),
        p_OC=point,
        frame=hand.frame,
        w_frame=ca.vertcat(bend[1], -bend[0], hand.connection @ uv_rate),
        step=at.step,
        margin=at.margin,
    )
