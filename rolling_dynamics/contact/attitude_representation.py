"""
Contact configuration without chart singularities on the object.

Coordinates: the attitude of the object in the hand (unit quaternion) and the contact point on the
hand. The contact point on a convex object is the one whose outward normal is opposite to that of
the hand: the gradient of the support function h there; its Hessian is the inverse of the
curvature.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from rolling_dynamics.contact.first_order_kinematics import E1
from rolling_dynamics.contact.representation import ContactState
from rolling_dynamics.contact.rolling_dynamics import ContactGeometry
from rolling_dynamics.contract.layout import Entry, quaternion_entry, vector_entry
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.rotations import rate_space, rotation_matrix
from rolling_dynamics.small_matrices import inverse_2x2
from rolling_dynamics.surfaces.surface import Surface


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
        return ContactState(
            geometry=ContactGeometry(
                R_HO=R,
                p_HC=hand.position,
                r_OC=R @ p_O,
                frame=hand.frame,
                v_C=tangent @ v,
                n_rate=-tangent @ (hand.curvature @ v),
            ),
            w_HO_H=w,
            frame_rate_H=ca.SX(3, 1),
            to_velocity_frame=ca.SX.eye(3),
            rates={
                'q_HO': rate_space(values['q_HO'], w),
                'contact_h': inverse_2x2(hand.scale) @ v,
            },
            relative_curvature=curvature,
            point_h=values['contact_h'],
        )
