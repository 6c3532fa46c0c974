"""
Contact configuration in the contact coordinates of the paper, q = (u_o, v_o, u_h, v_h, psi).

The velocity state is the relative angular velocity in the contact frame of the hand: three numbers
that fulfil the rolling constraints by construction, where the paper's q_dot has five that drift.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
from rolling_dynamics.contact.first_order_kinematics import (
    contact_frame_rotation,
    first_order_kinematics,
    relative_curvature,
)
from rolling_dynamics.contact.representation import ContactState
from rolling_dynamics.contact.rolling_dynamics import ContactGeometry
from rolling_dynamics.contract.layout import Entry, vector_entry
from rolling_dynamics.surfaces.surface import Surface


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
        tangent = hand.frame[:, :2]
        v = hand.scale @ q_rate[2:4]  # over the hand, in Ch
        bend = hand.curvature @ v
        R_HO = hand.frame @ contact_frame_rotation(psi) @ obj.frame.T
        return ContactState(
            geometry=ContactGeometry(
                R_HO=R_HO,
                p_HC=hand.position,
                r_OC=R_HO @ obj.position,
                frame=hand.frame,
                v_C=tangent @ v,
                n_rate=-tangent @ bend,
            ),
            w_HO_H=hand.frame @ w,
            frame_rate_H=hand.frame @ ca.vertcat(bend[1], -bend[0], hand.connection @ q_rate[2:4]),
            to_velocity_frame=hand.frame.T,
            rates={'contact_o': q_rate[0:2], 'contact_h': q_rate[2:4], 'psi': q_rate[4]},
            relative_curvature=relative_curvature(obj, hand, psi),
            point_h=values['contact_h'],
        )
