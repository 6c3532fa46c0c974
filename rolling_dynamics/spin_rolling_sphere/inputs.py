# ruff: noqa: ARG002 (a law need not use everything that it may)
"""Inputs of a spin-rolling sphere: rates, Darboux frame, law of direction, curvature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import TypeAlias

import casadi as ca
from rolling_dynamics.contract.rolling_system import Entry, Layout, vector_entry
from rolling_dynamics.errors import ParameterError

VARIANTS = ('corrected', 'as_published')


@dataclass(frozen=True, eq=False, kw_only=True)
class DarbouxInputs:
    """
    Inputs of the Darboux-frame form.

    Attributes
    ----------
    alpha, beta, gamma
        Geodesic curvature, geodesic torsion, normal curvature of the virtual surface [1/m].
    theta, phi
        Angles of the Darboux frame [rad].

    """

    alpha: ca.SX
    beta: ca.SX
    gamma: ca.SX
    theta: ca.SX
    phi: ca.SX


def checked_variant(variant: str) -> str:
    """Return a variant of the model; raise ParameterError if there is none of this name."""
    if variant not in VARIANTS:
        raise ParameterError(f'variant must be one of {VARIANTS}, got {variant!r}')
    return variant


def angular_velocity(
    inputs: DarbouxInputs, radius: ca.SX, tan_v_o: ca.SX, variant: str = 'corrected'
) -> ca.SX:
    """
    Return the angular velocity of the sphere per arc length, in S.

    Parameters
    ----------
    inputs
        Virtual surface and angles.
    radius
        Radius [m].
    tan_v_o
        Tangent of the latitude of the contact on the sphere.
    variant
        ``corrected``, or ``as_published`` with the sine that Eq. (12) prints twice.

    Returns
    -------
    casadi.SX
        (w_x, w_y, w_z) / delta [1/m].

    """
    kn = 1 / radius - inputs.gamma  # Eq. (5) with (8), (9)
    tau = -inputs.beta
    kg = tan_v_o * ca.cos(inputs.phi) / radius - inputs.alpha
    s, c = ca.sin(inputs.theta + inputs.phi), ca.cos(inputs.theta + inputs.phi)
    cosine = c if checked_variant(variant) == 'corrected' else s
    return ca.vertcat(-c * tau - s * kn, -s * tau + cosine * kn, -kg)  # Eq. (12)


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
Named = Mapping[str, ca.SX]


@dataclass(frozen=True)
class AngularVelocity:
    """The angular velocity itself."""

    entries: tuple[Entry, ...] = (vector_entry('w_SO_S', 'rad/s', 'S', 'angular velocity'),)

    def layout(self, independent_variable: str) -> Layout:
        """Return the layout of u."""
        return Layout(self.entries)

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return it."""
        return u['w_SO_S']


@dataclass(frozen=True)
class VirtualSurface:
    """Virtual surface and both angles, Eq. (14)."""

    entries: tuple[Entry, ...] = (
        *_SURFACE,
        Entry('theta', ('theta',), 'rad', '', 'angle', 'angle between the contact frames'),
        Entry('phi', ('phi',), 'rad', '', 'angle', "angle from the sphere's e_u to the path"),
    )

    def layout(self, independent_variable: str) -> Layout:
        """Return the layout of u; over time with the rolling rate."""
        return Layout((*self.entries, _DELTA) if independent_variable == 'time' else self.entries)

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return Eq. (12) per arc length."""
        inputs = DarbouxInputs(
            alpha=u['alpha_s'],
            beta=u['beta_s'],
            gamma=u['gamma_s'],
            theta=u['theta'],
            phi=u['phi'],
        )
        return angular_velocity(inputs, radius, tan_v_o, variant)


@dataclass(frozen=True)
class Direction(VirtualSurface):
    """Virtual surface and direction of the path on the plane, Eqs. (14), (15)."""

    entries: tuple[Entry, ...] = (
        *_SURFACE,
        Entry('G_f', ('G_f',), 'rad', 'S', 'angle', 'direction of the path'),
    )

    def rotation(self, u: Named, radius: ca.SX, tan_v_o: ca.SX, variant: str, phi: float) -> ca.SX:
        """Return Eq. (12) per arc length with the direction law."""
        alpha, beta, gamma, G_f = (u[n] for n in ('alpha_s', 'beta_s', 'gamma_s', 'G_f'))
        if variant == 'corrected':
            theta, angle = frame_angle(G_f, beta, gamma, radius) - phi, ca.SX(phi)
        else:
            theta, angle = published_angles(G_f, beta, gamma, radius)
        inputs = DarbouxInputs(alpha=alpha, beta=beta, gamma=gamma, theta=theta, phi=angle)
        return angular_velocity(inputs, radius, tan_v_o, variant)


InputLaw: TypeAlias = AngularVelocity | VirtualSurface
INPUTS: dict[str, InputLaw] = {
    'angular_velocity': AngularVelocity(),
    'virtual_surface': VirtualSurface(),
    'direction': Direction(),
}


def input_law(name: str) -> InputLaw:
    """Return the law of a name of ``INPUTS``."""
    return INPUTS[name]
