"""The equations of an object on a hand, written once; everything else evaluates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
from rolling_dynamics.contact.representation import ContactState, Representation
from rolling_dynamics.contact.rolling_dynamics import HandMotion, object_energy, rolling_motion
from rolling_dynamics.contract.symbols import Symbols
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.inertia import inertia_matrix
from rolling_dynamics.rotations import rate_body, rotation_matrix
from rolling_dynamics.surfaces.surface import Surface


@dataclass(frozen=True, eq=False)
class ContactExpressions(Symbols):
    """
    The equations of a contact system with their symbols.

    Attributes
    ----------
    xdot
        Rate of the state.
    frame
        R_HCh: contact frame of the hand, that of its first chart on whatever charts x stands.
    wrench
        (tau, f) on the object at the contact point, in Ch [N m], [N].
    point_h
        Contact point on the first chart of the hand.
    load
        The same in the frame of the hand's chart in use, which is regular where x is; for margins,
        which do not depend on the frame and are differentiated.
    state
        The contact.

    """

    xdot: ca.SX
    frame: ca.SX
    wrench: ca.SX
    point_h: ca.SX
    load: ca.SX
    state: ContactState


def contact_expressions(
    symbols: Symbols,
    object_surface: Surface,
    hand_surface: Surface,
    representation: Representation,
    friction: str,
) -> ContactExpressions:
    """
    Return the equations of motion and the contact wrench.

    Parameters
    ----------
    symbols
        Of the system, with the control (alpha_WH_H, a_WH_H).
    object_surface, hand_surface
        The two surfaces.
    representation
        Coordinates of the contact.
    friction
        ``rolling`` or ``pure_rolling``.

    Returns
    -------
    ContactExpressions
        Woodruff & Lynch, Eqs. (9)-(13).

    """
    u, values, params = symbols.u, symbols.values, symbols.params
    contact = representation.evaluate(
        values, object_surface, hand_surface, params['object_surface'], params['hand_surface']
    )
    R_WH, w, v = rotation_matrix(values['q_WH']), values['w_WH_H'], values['v_WH_H']
    motion = rolling_motion(
        contact.geometry,
        HandMotion(w=w, alpha=u[0:3], a=u[3:6]),
        contact.w_HO_H,
        mass=params['mass'],
        inertia_O=inertia_matrix(params['inertia']),
        gravity_H=R_WH.T @ params['gravity_W'],
        friction=friction,
    )
    rates = {
        'q_WH': rate_body(values['q_WH'], w),
        'p_WH': R_WH @ v,
        **contact.rates,
        'w_WH_H': u[0:3],
        'v_WH_H': u[3:6] - ca.cross(w, v),
        representation.velocity.name: contact.to_velocity_frame
        @ (motion.w_HO_rate - ca.cross(contact.frame_rate_H, contact.w_HO_H)),
    }
    g = contact.geometry
    frame, force = g.frame, g.frame.T @ motion.force_H
    load = ca.vertcat(0, 0, motion.spin_torque, force)  # Eqs. (11), (12)
    wrench, point_h = load, contact.point_h
    if representation.hand_chart != 0:
        frame = hand_surface.contact_frame(g.p_HC, g.frame[:, 2], params['hand_surface'])
        wrench = ca.vertcat(load[:3], frame.T @ g.frame @ force)
        point_h = first_coordinates(hand_surface, g.p_HC, params)
    return ContactExpressions(
        **vars(symbols),
        xdot=ca.vertcat(*(rates[name] for name in values)),
        frame=frame,
        wrench=wrench,
        point_h=point_h,
        load=load,
        state=contact,
    )


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


def energy_expression(e: ContactExpressions) -> ca.SX:
    """Return kinetic and potential energy of the object [J]."""
    g = e.state.geometry
    p_WO = e.values['p_WH'] + rotation_matrix(e.values['q_WH']) @ (g.p_HC - g.r_OC)
    return object_energy(
        g,
        e.values['v_WH_H'],
        e.values['w_WH_H'],
        e.state.w_HO_H,
        -ca.dot(e.params['gravity_W'], p_WO),
        mass=e.params['mass'],
        inertia_O=inertia_matrix(e.params['inertia']),
    )
