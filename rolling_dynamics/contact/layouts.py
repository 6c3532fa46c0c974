"""Layouts of state, control and parameters of an object on a hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from rolling_dynamics.contract.layout import Entry, Layout, quaternion_entry, vector_entry
from rolling_dynamics.surfaces.surface import Surface

GRAVITY = 9.81  # m/s^2, of the examples of the paper
FAR = 1e6  # stands for an edge that is not there

HAND_CONFIGURATION = (
    quaternion_entry('q_WH', 'attitude of the hand'),
    vector_entry('p_WH', 'm', 'W', 'origin of the hand'),
)
HAND_VELOCITY = (
    vector_entry('w_WH_H', 'rad/s', 'H', 'angular velocity of the hand'),
    vector_entry('v_WH_H', 'm/s', 'H', 'velocity of the origin of the hand'),
)
CONTROL = Layout(
    (
        vector_entry('alpha_WH_H', 'rad/s^2', 'H', 'angular acceleration of the hand'),
        vector_entry('a_WH_H', 'm/s^2', 'H', 'true acceleration of the origin of the hand'),
    )
)


def state_layout(configuration: Sequence[Entry], velocity: Entry) -> Layout:
    """Return the layout of the state: hand and contact, then the velocities of both."""
    return Layout((*HAND_CONFIGURATION, *configuration, *HAND_VELOCITY, velocity))


def chart_view_layout(configuration: Sequence[Entry]) -> Layout:
    """Return the layout of s = (Phi_sh, r_sh, q, V_sh, q_dot), the paper's 22 numbers."""
    rates = (
        Entry(f'{q.name}_dot', tuple(f'{c}_dot' for c in q.components), '1/s')
        for q in configuration
    )
    angles = vector_entry('Phi_WH', 'rad', 'W', 'roll, pitch, yaw of the hand')
    return Layout((angles, HAND_CONFIGURATION[1], *configuration, *HAND_VELOCITY, *rates))


def parameter_layout(object_surface: Surface, hand_surface: Surface) -> Layout:
    """Return the layout of p; dimensions and edges have those of the surfaces as defaults."""
    edges = [
        float(np.clip(value, -FAR, FAR)) for pair in hand_surface.chart.bounds for value in pair
    ]
    if hand_surface.name not in ('plane', 'expression', 'cylinder'):
        edges = [-FAR, FAR, -FAR, FAR]  # bounds of a closed surface are its poles, not edges
    return Layout(
        (
            Entry('mass', ('mass',), 'kg', text='mass of the object'),
            vector_entry(
                'inertia',
                'kg m^2',
                'O',
                'inertia about the centre of mass',
                suffixes=('xx', 'yy', 'zz', 'xy', 'xz', 'yz'),
            ),
            vector_entry('gravity_W', 'm/s^2', 'W', 'gravity'),
            Entry('mu', ('mu',), '', text='coefficient of static friction'),
            Entry('mu_spin', ('mu_spin',), 'm', text='coefficient of spin friction'),
            Entry('object_surface', tuple(f'object_{n}' for n in object_surface.values), 'm'),
            Entry('hand_surface', tuple(f'hand_{n}' for n in hand_surface.values), 'm'),
            Entry('hand_edges', ('u_min', 'u_max', 'v_min', 'v_max'), 'chart', 'hand'),
        ),
        defaults={
            'object_surface': tuple(object_surface.values.values()),
            'hand_surface': tuple(hand_surface.values.values()),
            'hand_edges': tuple(edges),
        },
    )
