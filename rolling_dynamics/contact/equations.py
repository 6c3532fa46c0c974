"""Equations of a rolling object on a hand, its layouts, and their region of validity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
import math
from types import MappingProxyType

import casadi as ca
import numpy as np
from rolling_dynamics.contact.representation import ContactState, Representation
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    number_entry,
    quaternion_entry,
    vector_entry,
)
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.friction import against, LEVER_ARM, MU, MU_SPIN, RESISTANCE, SLOW
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.mechanism import Driven, Free, Machine, Solid
from rolling_dynamics.mechanism.system import MachineExpressions
from rolling_dynamics.surfaces.surface import Surface


@dataclass(frozen=True, eq=False)
class ContactExpressions(MachineExpressions):
    """
    The equations of a contact system with their symbols.

    Attributes
    ----------
    frame
        R_HCh: contact frame of the hand on its first chart, whatever the charts of x are.
    point_h
        Contact point on the first chart of the hand.
    load
        The wrench in the frame of the hand's chart in use, which is regular where x is; for
        margins, which do not depend on the frame and are differentiated.
    state
        The contact.

    """

    frame: ca.SX
    point_h: ca.SX
    load: ca.SX
    state: ContactState


def contact_machine(
    object_surface: Surface,
    hand_surface: Surface,
    representation: Representation,
    friction: str,
    parameters: Layout,
) -> tuple[Machine, ContactState]:
    """
    Return the machine, a hand whose acceleration is the control and an object on it.

    Parameters
    ----------
    object_surface, hand_surface
        The two surfaces.
    representation
        Coordinates of the contact.
    friction
        ``rolling`` or ``pure_rolling``.
    parameters
        Parameters of the system; there is rolling resistance if they include a lever arm.

    Returns
    -------
    Machine, ContactState
        The machine, and the contact in its symbols.

    """
    state = state_layout(representation.configuration, representation.velocity)
    machine, x, p = hand_machine(state, parameters)
    contact = representation.evaluate(
        x, object_surface, hand_surface, p['object_surface'], p['hand_surface']
    )
    spin_rate = contact.spin_rate if friction == 'pure_rolling' else None
    joint = replace(contact.joint, spin_rate=spin_rate, mu=p['mu'], mu_spin=p['mu_spin'])
    if LEVER_ARM.name in p:
        along = joint.R_EC[:, :2]
        rate = along.T @ x[joint.speed.name]
        torque = p[LEVER_ARM.name] * against(rate, SLOW) - p[RESISTANCE.name] * rate
        joint = replace(joint, resisting=along @ torque)
    machine.body('object', joint, solid(p), on='hand')
    return machine, contact


def hand_machine(
    state: Layout, parameters: Layout
) -> tuple[Machine, dict[str, ca.SX], dict[str, ca.SX]]:
    """Return a machine with a hand driven by its accelerations, and symbols of x and p."""
    machine = Machine('contact')
    given = parameters.defaults
    p = {e.name: machine.parameter(e, default=given.get(e.name)) for e in parameters.entries}
    alpha, a = (machine.control(entry) for entry in CONTROL.entries)
    x = {entry.name: machine.variable(entry) for entry in state.entries}
    machine.gravity_W = p['gravity_W']
    (attitude, position), (speed, velocity) = HAND_CONFIGURATION, HAND_VELOCITY
    hand = Free(
        position=position, attitude=attitude, velocity=velocity, speed=speed, velocity_axes='own'
    )
    a_own = a - ca.cross(x[speed.name], x[velocity.name])
    machine.body('hand', Driven(joint=hand, rates=ca.vertcat(a_own, alpha)))
    return machine, x, p


def solid(p: Mapping[str, ca.SX]) -> Solid:
    """Return the mass of an object of ``mass`` and ``inertia``."""
    return Solid(p['mass'], inertia_matrix(p['inertia']))


def first_coordinates(surface: Surface, point: ca.SX, params: Mapping[str, ca.SX]) -> ca.SX:
    """Return a point of the hand on its first chart, periods next to the middle of its edges."""
    chart, edges = surface.chart, params['hand_edges']
    if chart.inverse is None:
        raise SurfaceError(f'{surface.name}: the first chart {chart.name!r} needs an inverse')
    out = []
    for k, value in enumerate(chart.inverse(point, params['hand_surface'])):
        period, middle = chart.periods[k], (edges[2 * k] + edges[2 * k + 1]) / 2
        turns = 0 if period is None else period * ca.floor((middle - value) / period + 0.5)
        out.append(value + turns)
    return ca.vertcat(*out)


GRAVITY = 9.81  # m/s^2, of the examples of the paper
FAR = 1e6  # represents a missing edge

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


def parameter_layout(
    object_surface: Surface,
    hand_surface: Surface,
    contact: Sequence[Entry] = (MU, MU_SPIN),
    defaults: Mapping[str, tuple[float, ...]] = MappingProxyType({}),
) -> Layout:
    """
    Return the layout of p; dimensions and edges default to the surfaces'.

    Parameters
    ----------
    object_surface, hand_surface
        The two surfaces.
    contact, defaults
        Parameters of the contact [SI units], and defaults of some.

    """
    edges = [
        float(np.clip(value, -FAR, FAR)) for pair in hand_surface.chart.bounds for value in pair
    ]
    if hand_surface.name not in ('plane', 'expression', 'cylinder'):
        edges = [-FAR, FAR, -FAR, FAR]  # bounds of a closed surface are its poles, not edges
    return Layout(
        (
            number_entry('mass', 'kg', 'mass of the object', 'positive'),
            vector_entry(
                'inertia',
                'kg m^2',
                'O',
                'inertia about the centre of mass',
                suffixes=('xx', 'yy', 'zz', 'xy', 'xz', 'yz'),
            ),
            vector_entry('gravity_W', 'm/s^2', 'W', 'gravity'),
            *contact,
            Entry('object_surface', tuple(f'object_{n}' for n in object_surface.values), 'm'),
            Entry('hand_surface', tuple(f'hand_{n}' for n in hand_surface.values), 'm'),
            Entry('hand_edges', ('u_min', 'u_max', 'v_min', 'v_max'), 'chart', 'hand'),
        ),
        defaults={
            **defaults,
            'object_surface': tuple(object_surface.values.values()),
            'hand_surface': tuple(hand_surface.values.values()),
            'hand_edges': tuple(edges),
        },
    )


def further_guards(e: ContactExpressions) -> dict[str, ca.SX]:
    """Return guards: positive while the contact is on the hand, and in one point."""
    K = -e.state.relative_curvature
    bent = ca.sqrt(((K[0, 0] - K[1, 1]) / 2) ** 2 + K[0, 1] ** 2)
    least = (K[0, 0] + K[1, 1]) / 2 - bent
    return {'edge': inside_edges(e.point_h, e.params), 'relative_curvature': least}


def inside_edges(uv: ca.SX, p: Mapping[str, ca.SX]) -> ca.SX:
    """Return guards: positive while a point of the hand is within its edges."""
    edges = p['hand_edges']
    return ca.mmin(ca.vertcat(uv - edges[[0, 2]], edges[[1, 3]] - uv))


def open_edge(surface: Surface, uv: ca.SX, chart: int) -> ca.SX | None:
    """Return the distance in the chart to the edges of a surface, None if it has no edge."""
    c = surface.charts[chart]
    if len(surface.charts) > 1:  # the bounds are poles that another chart covers
        return None
    margins = []
    for k, (low, high) in enumerate(c.bounds):
        if not c.periods[k]:
            margins += [uv[k] - low] if math.isfinite(low) else []
            margins += [high - uv[k]] if math.isfinite(high) else []
    return ca.mmin(ca.vertcat(*margins)) if margins else None
