"""State and parameters of a body on a hand that may slide and leave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import casadi as ca
from rolling_dynamics.contact.equations import FAR, HAND_CONFIGURATION, HAND_VELOCITY
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
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
