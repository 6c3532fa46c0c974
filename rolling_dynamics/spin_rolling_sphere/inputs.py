"""Inputs of a spin-rolling sphere: rates, Darboux frame, law of direction, curvature."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry, Layout, vector_entry

VARIANTS = ('corrected', 'as_published')


def frame_angle(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> ca.SX:
    """Return theta + phi [rad] of the corrected model for the direction G_f [rad]."""
    return G_f + ca.atan2(radius * beta, 1 - radius * gamma)


def published_angles(G_f: ca.SX, beta: ca.SX, gamma: ca.SX, radius: ca.SX) -> tuple[ca.SX, ca.SX]:
    """
    Return theta and phi [rad] as Eq. (15) prints them.

    The inverse cotangent is that with values in (-pi/2, pi/2). With it the path keeps its line,
    and for beta < 0, gamma < 1/R its direction but for G_f between pi/4 and atan(k/(k + beta)),
    k = 1/R - gamma, where the inverse cotangent jumps; for beta > 0 the sphere runs backwards. The
    second branch is read as pi/4 <= G_f <= pi.

    Parameters
    ----------
    G_f
        Wanted direction [rad], in (-pi, pi].
    beta, gamma
        Torsion and normal curvature of the virtual surface [1/m].
    radius
        Radius [m].

    """
    tangent = ca.tan(G_f)
    cotangent = ((1 - tangent) / radius + gamma * (tangent - 1) - beta * tangent) / beta
    theta = ca.atan(1 / cotangent)
    quarter = math.pi / 4
    shifted = ca.logic_and(G_f > -3 * quarter, G_f < quarter)
    return theta, ca.if_else(shifted, math.pi, 0.0)


_SURFACE = (
    Entry('alpha_s', ('alpha_s',), '1/m', text='geodesic curvature of the virtual surface'),
    Entry('beta_s', ('beta_s',), '1/m', text='geodesic torsion of the virtual surface'),
    Entry('gamma_s', ('gamma_s',), '1/m', text='normal curvature of the virtual surface'),
)
_DELTA = Entry('delta', ('delta',), 'm/s', text='rolling rate ds/dt')
INPUTS = {
    'angular_velocity': (vector_entry('w_SO_S', 'rad/s', 'S', 'angular velocity'),),
    'virtual_surface': (
        *_SURFACE,
        Entry('theta', ('theta',), 'rad', '', 'angle', 'angle between the contact frames'),
        Entry('phi', ('phi',), 'rad', '', 'angle', "angle from the sphere's e_u to the path"),
    ),
    'direction': (
        *_SURFACE,
        Entry('G_f', ('G_f',), 'rad', 'S', 'angle', 'direction of the path'),
    ),
}


def control_layout(inputs: str, independent_variable: str) -> Layout:
    """Return the layout of u; that of the Darboux frame over time has the rolling rate too."""
    timed = inputs != 'angular_velocity' and independent_variable == 'time'
    return Layout((*INPUTS[inputs], _DELTA) if timed else INPUTS[inputs])


def angular_velocity(
    u: Mapping[str, ca.SX], radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float
) -> ca.SX:
    """
    Return the angular velocity of the sphere in S, per arc length for the Darboux frame.

    Parameters
    ----------
    u
        Entries of the control.
    radius
        Radius [m].
    tan_v_o
        Tangent of the latitude of the contact on the sphere.
    variant
        ``corrected``, or ``as_published`` with the sine that Eq. (12) prints twice, and Eq. (15).
    phi
        Angle phi [rad] of the corrected direction law.

    """
    if 'w_SO_S' in u:
        return u['w_SO_S']
    alpha, beta, gamma = (u[entry.name] for entry in _SURFACE)
    if 'G_f' not in u:
        theta, angle = u['theta'], u['phi']
    elif variant == 'corrected':
        theta, angle = frame_angle(u['G_f'], beta, gamma, radius) - phi, ca.SX(phi)
    else:
        theta, angle = published_angles(u['G_f'], beta, gamma, radius)
    kn = 1 / radius - gamma  # Eq. (5) with (8), (9)
    tau = -beta
    kg = tan_v_o * ca.cos(angle) / radius - alpha
    s, c = ca.sin(theta + angle), ca.cos(theta + angle)
    cosine = c if variant == 'corrected' else s
    return ca.vertcat(-c * tau - s * kn, -s * tau + cosine * kn, -kg)  # Eq. (12)
