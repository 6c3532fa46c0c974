"""Parameters of a body on a hand that may slide and leave it."""

from __future__ import annotations

from rolling_dynamics.contact.equations import FAR
from rolling_dynamics.contract.layout import Entry, Layout, vector_entry
from rolling_dynamics.surfaces.surface import Surface

INERTIA = tuple(f'inertia_{k}' for k in ('xx', 'yy', 'zz', 'xy', 'xz', 'yz'))


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
                text='share of the work of compression that a landing gives back',
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
