"""States of a rolling object, by contact coordinates or attitude, and kinematics of rolling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import casadi as ca
from rolling_dynamics.contract.rolling_system import (
    Entry,
    quaternion_entry,
    RegulatorWeights,
    vector_entry,
)
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.mechanism import SurfaceRolling
from rolling_dynamics.rotations import inverse_2x2, rate_space, rotation_matrix
from rolling_dynamics.surfaces.surface import LocalGeometry, Surface

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
        The object on the hand, in the axes of the velocity entry; its contact leaves spin free.
    spin_rate
        Rate of the velocity's component along the normal that keeps the spin [rad/s^2].
    relative_curvature
        H~_o + H_h, 2x2 [1/m].

    """

    geometry: ContactGeometry
    w_HO_H: ca.SX
    joint: SurfaceRolling
    spin_rate: ca.SX
    relative_curvature: ca.SX


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
        Point (3) and Hessian (3x3) [m], which maps a rotation of the normal to a step.

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
        """Return the contact at a state given by the values of its entries."""
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
        """Return the contact at a state given by the values of its entries."""
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
        )


Representation: TypeAlias = AttitudeRepresentation | CoordinatesRepresentation
# the contact on charts weighs as much as the attitude and the point on the hand


FRICTION_MODELS = ('rolling', 'pure_rolling')


@dataclass(frozen=True, eq=False, kw_only=True)
class ContactGeometry:
    """
    Geometry of the contact of two bodies; vectors in the hand frame H, as expressions.

    Attributes
    ----------
    R_HO
        Attitude of the object in the hand.
    p_HC
        Contact point from the hand's origin [m].
    p_OC, r_OC
        Contact point from the object's centre of mass, in O and in H [m].
    frame
        Contact frame of the hand's chart in use, from it to H; its third column is the normal out
        of the hand.
    v_C
        Velocity of the contact point over the hand [m/s] in rolling, 3 entries.
    n_rate
        Rate of the normal in the hand [1/s].

    """

    R_HO: ca.SX
    p_HC: ca.SX
    p_OC: ca.SX
    r_OC: ca.SX
    frame: ca.SX
    v_C: ca.SX
    n_rate: ca.SX


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
    # rates of the components in Ch, next to alpha_rel and a_rel
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
