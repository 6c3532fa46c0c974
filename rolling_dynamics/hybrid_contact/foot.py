"""
The closest points of a convex body and a hand, and how they move as the body does.

On a plane the body's closest point is its lowest one. On another surface the coordinates (u, v) of
the closest point of the hand are part of the state. Let d go from it to the body's point with the
opposite normal: d is along the normal, E = (x . d, y . d) = 0, and the rate of (u, v) is the one
that keeps E at zero, in contact, sliding and in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import casadi as ca
from rolling_dynamics.contact.equations import FAR, HAND_CONFIGURATION, HAND_VELOCITY
from rolling_dynamics.contact.representation import (
    AttitudeRepresentation,
    ContactState,
    support_point,
)
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.rotations import inverse_2x2, rate_space, rotation_matrix
from rolling_dynamics.surfaces.quadrics import Plane
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
CURVED_STATE = Layout((*STATE.entries, FOOT))  # over a hand that is not a plane
INERTIA = tuple(f'inertia_{k}' for k in ('xx', 'yy', 'zz', 'xy', 'xz', 'yz'))


@dataclass(frozen=True, eq=False)
class BodyVectors:
    """
    Position, attitude and motion held by a state, as expressions.

    Attributes
    ----------
    q_WH, p_WH
        Attitude (w, x, y, z) and origin of the hand in W [m].
    q_HO, p_HO_H
        Attitude and centre of mass of the object in the hand, in H [m].
    w_WH_H, v_WH_H
        Velocities of the hand, in H [rad/s], [m/s].
    w_HO_H, v_HO_H
        Angular velocity of the object relative to the hand, and rate of p_HO_H.

    """

    q_WH: ca.SX
    p_WH: ca.SX
    q_HO: ca.SX
    p_HO_H: ca.SX
    w_WH_H: ca.SX
    v_WH_H: ca.SX
    w_HO_H: ca.SX
    v_HO_H: ca.SX

    @classmethod
    def of(cls, values: Mapping[str, ca.SX]) -> BodyVectors:
        """Return those among the entries of a state."""
        return cls(**{f.name: values[f.name] for f in fields(cls)})


def parameter_layout(surface: Surface, hand: Surface) -> Layout:
    """Return the layout of p; ``spin_direction`` is set by the hybrid run, not by the user."""
    names = tuple(f'hand_{n}' for n in hand.values)
    of_hand = (Entry('hand_surface', names, 'm'),) if names else ()
    return Layout(
        (
            Entry('mass', ('mass',), 'kg', text='mass of the object'),
            Entry('inertia', INERTIA, 'kg m^2', 'O', text='about the centre of mass'),
            vector_entry('gravity_W', 'm/s^2', 'W', 'gravity'),
            Entry('mu', ('mu',), '', text='coefficient of static friction'),
            Entry('mu_kinetic', ('mu_kinetic',), '', text='coefficient of kinetic friction'),
            Entry('mu_spin', ('mu_spin',), 'm', text='coefficient of spin friction'),
            Entry(
                'rolling_resistance',
                ('rolling_resistance',),
                'm s/rad',
                text='torque against rolling over normal force and rate of rolling',
            ),
            Entry(
                'restitution',
                ('restitution',),
                '',
                text='fraction of the work of compression that a landing gives back',
            ),
            Entry(
                'spin_direction',
                ('spin_direction',),
                '',
                text='sign of the spin that friction opposes, 0 for none',
            ),
            Entry('object_surface', tuple(f'object_{n}' for n in surface.values), 'm'),
            *of_hand,
            Entry('hand_edges', ('u_min', 'u_max', 'v_min', 'v_max'), 'm', 'hand'),
        ),
        defaults={
            'rolling_resistance': (0.0,),
            'restitution': (0.0,),
            'spin_direction': (0.0,),
            'object_surface': tuple(surface.values.values()),
            **({'hand_surface': tuple(hand.values.values())} if names else {}),
            'hand_edges': (-FAR, FAR, -FAR, FAR),
        },
    )


DISTINCT = 1e-2  # of the turn of d over a step of the foot, by which a closest point stands apart
CHART = 2e-2  # ratio of the lengths of the chart directions, below which it is near a pole


class Surfaces(NamedTuple):
    """Surface of body and hand, and their dimensions as expressions."""

    body: Surface
    hand: Surface
    body_dimensions: ca.SX
    hand_dimensions: ca.SX


class Foot(NamedTuple):
    """
    The closest point of the hand.

    Attributes
    ----------
    uv
        Its coordinates.
    uv_rate
        Their rates [1/s].
    r_rate
        Rate of r_OC as seen from the hand, in H [m/s].
    frame_rate
        Rate of the contact frame as seen from the hand, 3x3 [1/s].
    step
        By how much uv must change so that it is the closest point, to first order.
    margin
        Positive where the closest point is one for itself and the chart regular.

    """

    uv: ca.SX
    uv_rate: ca.SX
    r_rate: ca.SX
    frame_rate: ca.SX
    step: ca.SX
    margin: ca.SX


def on_plane(surfaces: Surfaces, body: BodyVectors) -> tuple[ContactState, Foot]:
    """Return contact and foot on the plane z = 0 of H."""
    values = {'q_HO': body.q_HO, 'contact_h': ca.SX.zeros(2), 'w_HO_H': body.w_HO_H}
    touching = AttitudeRepresentation().evaluate(
        values, surfaces.body, Plane(), surfaces.body_dimensions, ca.SX(0, 1)
    )
    g = touching.geometry
    lowest = body.p_HO_H + g.r_OC
    place = ca.vertcat(lowest[0:2], 0)
    contact = replace(
        touching,
        geometry=replace(g, p_HC=place),
        joint=replace(touching.joint, place_P=place),
    )
    r_rate = ca.cross(body.w_HO_H, g.r_OC) + g.v_C
    foot = Foot(
        uv=lowest[0:2],
        uv_rate=(body.v_HO_H + r_rate)[0:2],
        r_rate=r_rate,
        frame_rate=ca.SX(3, 3),
        step=ca.SX.zeros(2),
        margin=ca.SX(1),
    )
    return contact, foot


def on_surface(
    surfaces: Surfaces, body: BodyVectors, contact_h: ca.SX
) -> tuple[ContactState, Foot]:
    """Return contact and foot on any surface at coordinates that the state holds."""
    q, uv, p = ca.SX.sym('q', 4), ca.SX.sym('uv', 2), ca.SX.sym('p', 3)
    hand = surfaces.hand.geometry(uv, surfaces.hand_dimensions)
    R = rotation_matrix(q)
    point, _ = support_point(surfaces.body, -(R.T @ hand.frame[:, 2]), surfaces.body_dimensions)
    r = R @ point
    E = hand.frame[:, 0:2].T @ (p + r - hand.position)
    over_uv = ca.jacobian(E, uv)
    q_rate, v = rate_space(body.q_HO, body.w_HO_H), body.v_HO_H
    uv_rate = -inverse_2x2(over_uv) @ (ca.jacobian(E, q) @ q_rate + ca.jacobian(E, p) @ v)
    frame = ca.reshape(hand.frame, 9, 1)
    turn = over_uv @ inverse_2x2(hand.scale)  # minus the unit matrix on a plane
    lengths = ca.fabs(hand.scale[1, 1] / hand.scale[0, 0])
    foot = Foot(
        uv=uv,
        uv_rate=uv_rate,
        r_rate=ca.jacobian(r, q) @ q_rate + ca.jacobian(r, uv) @ uv_rate,
        frame_rate=ca.reshape(ca.jacobian(frame, uv) @ uv_rate, 3, 3),
        step=-inverse_2x2(over_uv) @ E,
        margin=ca.mmin(
            ca.vertcat(
                ca.det(turn) - DISTINCT,
                -ca.trace(turn) - DISTINCT,
                ca.fmin(lengths, 1 / lengths) - CHART,
            )
        ),
    )
    here = [contact_h, body.q_HO, body.p_HO_H]
    foot = Foot(*ca.substitute(list(foot), [uv, q, p], here))
    values = {'q_HO': body.q_HO, 'contact_h': contact_h, 'w_HO_H': body.w_HO_H}
    touching = AttitudeRepresentation().evaluate(
        values, surfaces.body, surfaces.hand, surfaces.body_dimensions, surfaces.hand_dimensions
    )
    return touching, foot
