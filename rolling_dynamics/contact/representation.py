"""States of a rolling object, by contact coordinates or attitude, and weights on errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import casadi as ca
from rolling_dynamics.contact.rolling_dynamics import (
    contact_frame_rotation,
    ContactGeometry,
    E1,
    first_order_kinematics,
    relative_curvature,
)
from rolling_dynamics.contract.layout import (
    Entry,
    quaternion_entry,
    RegulatorWeights,
    vector_entry,
)
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.mechanism import SurfaceRolling
from rolling_dynamics.rotations import inverse_2x2, rate_space, rotation_matrix
from rolling_dynamics.surfaces.surface import Surface

ATTITUDE = {
    'd_WH': 1.0,
    'd_HO': 10.0,
    'contact_h': 1000.0,
    'w_WH_H': 0.1,
    'v_WH_H': 0.1,
    'w_HO_H': 1.0,
}
_TRACKING = {**ATTITUDE, 'contact_o': 10.0, 'psi': 10.0, 'w_HO_Ch': 1.0}
CONTACT_WEIGHTS = RegulatorWeights(
    tracking=_TRACKING, terminal={k: 1e4 * v for k, v in _TRACKING.items()}, control=0.1
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactState:
    """
    A representation evaluated at a state, as expressions.

    Attributes
    ----------
    geometry
        Contact geometry, in H.
    w_HO_H
        Relative angular velocity of the object [rad/s].
    joint
        The object on the hand, in the axes of the velocity entry; its contact holds no spin.
    spin_rate
        Rate of the velocity's component along the normal that keeps the spin [rad/s^2].
    relative_curvature
        H~_o + H_h, 2x2 [1/m].
    point_h
        Chart coordinates of the contact on the hand.

    """

    geometry: ContactGeometry
    w_HO_H: ca.SX
    joint: SurfaceRolling
    spin_rate: ca.SX
    relative_curvature: ca.SX
    point_h: ca.SX


def support_point(surface: Surface, n_O: ca.SX, parameters: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return the point with outward normal n and the Hessian of the support function there.

    Parameters
    ----------
    surface
        A surface with a support function.
    n_O
        Outward unit normal, in the body frame.
    parameters
        Dimensions of the surface.

    Returns
    -------
    point, hessian
        3 and 3x3 entries [m]; the Hessian maps a turn of the normal to a step of the point.

    Raises
    ------
    SurfaceError
        The surface has no support function.

    """
    if surface.support is None or surface.side != 'outside':
        raise SurfaceError(
            f'the object surface {surface.name!r} has no support function; use the representation '
            "'coordinates', or give the surface a support function h(nx, ny, nz)"
        )
    n = ca.SX.sym('n', 3)
    h = surface.support(n)
    point = ca.gradient(h, n)
    out = ca.substitute([point, ca.jacobian(point, n)], [n, surface.parameters], [n_O, parameters])
    return out[0], out[1]


class AttitudeRepresentation:
    """Attitude of the object in the hand and contact point on the hand."""

    name = 'attitude'
    configuration = (
        quaternion_entry('q_HO', 'attitude of the object in the hand'),
        Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', 'vector', 'contact point on the hand'),
    )
    velocity = vector_entry('w_HO_H', 'rad/s', 'H', 'angular velocity of the object in the hand')

    def __init__(self, hand_chart: int = 0) -> None:
        """Use this chart of the hand."""
        self.hand_chart = hand_chart

    def evaluate(
        self,
        values: Mapping[str, ca.SX],
        object_surface: Surface,
        hand_surface: Surface,
        object_parameters: ca.SX,
        hand_parameters: ca.SX,
    ) -> ContactState:
        """Return the contact at a state given by the entries' values."""
        w = values['w_HO_H']
        R = rotation_matrix(values['q_HO'])
        hand = hand_surface.geometry(values['contact_h'], hand_parameters, self.hand_chart)
        n, tangent = hand.frame[:, 2], hand.frame[:, :2]
        p_O, hessian = support_point(object_surface, -(R.T @ n), object_parameters)
        tangent_O = R.T @ tangent
        H_o = -inverse_2x2(tangent_O.T @ hessian @ tangent_O)
        curvature = H_o + hand.curvature
        v = inverse_2x2(curvature) @ E1 @ (tangent.T @ w)  # over the hand, in Ch
        g = ContactGeometry(
            R_HO=R,
            p_HC=hand.position,
            p_OC=p_O,
            r_OC=R @ p_O,
            frame=hand.frame,
            v_C=tangent @ v,
            n_rate=-tangent @ (hand.curvature @ v),
        )
        rates = rate_space(values['q_HO'], w), inverse_2x2(hand.scale) @ v
        return ContactState(
            geometry=g,
            w_HO_H=w,
            joint=SurfaceRolling(
                rates=dict(zip(self.configuration, rates, strict=True)),
                speed=self.velocity,
                place_P=g.p_HC,
                R_EB=R,
                reach=g.r_OC,
                R_EC=g.frame,
                passing=g.v_C,
            ),
            spin_rate=-ca.dot(w, g.n_rate),
            relative_curvature=curvature,
            point_h=values['contact_h'],
        )


class CoordinatesRepresentation:
    """Contact coordinates on a chart of each body."""

    name = 'coordinates'
    configuration = (
        Entry('contact_o', ('u_o', 'v_o'), 'chart', 'object', 'vector', 'contact on the object'),
        Entry('contact_h', ('u_h', 'v_h'), 'chart', 'hand', 'vector', 'contact on the hand'),
        Entry('psi', ('psi',), 'rad', '', 'angle', 'angle of spin between the contact frames'),
    )
    velocity = vector_entry('w_HO_Ch', 'rad/s', 'Ch', 'angular velocity of the object in the hand')

    def __init__(self, object_chart: int = 0, hand_chart: int = 0) -> None:
        """Use these charts."""
        self.object_chart, self.hand_chart = object_chart, hand_chart

    def evaluate(
        self,
        values: Mapping[str, ca.SX],
        object_surface: Surface,
        hand_surface: Surface,
        object_parameters: ca.SX,
        hand_parameters: ca.SX,
    ) -> ContactState:
        """Return the contact at a state given by the entries' values."""
        w, psi = values['w_HO_Ch'], values['psi']
        obj = object_surface.geometry(values['contact_o'], object_parameters, self.object_chart)
        hand = hand_surface.geometry(values['contact_h'], hand_parameters, self.hand_chart)
        q_rate = first_order_kinematics(obj, hand, psi).rolling @ w  # Eq. (1)
        v = hand.scale @ q_rate[2:4]  # over the hand, in Ch
        bend = hand.curvature @ v
        R_ChO = contact_frame_rotation(psi) @ obj.frame.T
        R_HO = hand.frame @ R_ChO
        rates = q_rate[0:2], q_rate[2:4], q_rate[4]
        return ContactState(
            geometry=ContactGeometry(
                R_HO=R_HO,
                p_HC=hand.position,
                p_OC=obj.position,
                r_OC=R_HO @ obj.position,
                frame=hand.frame,
                v_C=hand.frame[:, :2] @ v,
                n_rate=-hand.frame[:, :2] @ bend,
            ),
            w_HO_H=hand.frame @ w,
            joint=SurfaceRolling(
                rates=dict(zip(self.configuration, rates, strict=True)),
                speed=self.velocity,
                place_P=hand.position,
                R_EB=R_ChO,
                reach=R_ChO @ obj.position,
                R_EC=ca.SX.eye(3),
                passing=ca.vertcat(v, 0),
                R_PE=hand.frame,
                axes_rate=ca.vertcat(bend[1], -bend[0], hand.connection @ q_rate[2:4]),
            ),
            spin_rate=ca.SX(1, 1),
            relative_curvature=relative_curvature(obj, hand, psi),
            point_h=values['contact_h'],
        )


Representation: TypeAlias = AttitudeRepresentation | CoordinatesRepresentation
# the contact on charts weighs as the attitude and the point on the hand do
