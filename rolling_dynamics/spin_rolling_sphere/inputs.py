# ruff: noqa: ARG002 (a law need not use everything that it may)
"""Inputs of a spin-rolling sphere: rates, Darboux frame, law of direction, curvature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
from typing import NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import Entry, Layout, vector_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import inverse_2x2
from rolling_dynamics.surfaces import Surface
from rolling_dynamics.surfaces.surface import LocalGeometry

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


NORMALS = ('outward', 'inward')


class InducedCurvature(NamedTuple):
    """Normal curvature, geodesic torsion and geodesic curvature of a curve on a surface [1/m]."""

    k_n: float
    tau_g: float
    k_g: float


def induced_curvature_expressions(
    geometry: LocalGeometry, phi: ca.SX, phi_rate: ca.SX, normal: str = 'outward'
) -> tuple[ca.SX, ca.SX, ca.SX]:
    """
    Return k_n, tau_g, k_g of the curve through a point in a direction.

    Parameters
    ----------
    geometry
        Chart at the point; it need not be orthogonal.
    phi
        Angle from the contact frame's x, along increasing u, to the curve, counted about the
        normal out of the material [rad].
    phi_rate
        d phi/ds [rad/m], which Eqs. (47), (77) leave out.
    normal
        Side to which e_3 points, ``outward`` or ``inward``.

    """
    if normal not in NORMALS:
        raise ParameterError(f'normal must be one of {NORMALS}, got {normal!r}')
    e1 = ca.vertcat(ca.cos(phi), ca.sin(phi))
    e2 = ca.vertcat(-ca.sin(phi), ca.cos(phi))
    bend = geometry.curvature @ e1
    k_n, tau_g = ca.dot(e1, bend), ca.dot(e2, bend)  # Eq. (77), lines 1 and 2
    along = inverse_2x2(geometry.scale) @ e1  # (u', v') at unit speed
    k_g = (geometry.connection @ along)[0] + phi_rate  # line 3, with Liouville's term
    sign = 1 if normal == 'outward' else -1
    return sign * k_n, tau_g, sign * k_g


def induced_curvature(
    surface: Surface,
    uv: ArrayLike,
    phi: float,
    phi_rate: float = 0.0,
    *,
    normal: str = 'outward',
    chart: int = 0,
) -> InducedCurvature:
    """
    Return the induced curvatures of a surface in a direction, as numbers.

    Parameters
    ----------
    surface
        Any surface of the suite.
    uv
        Chart coordinates of the point.
    phi, phi_rate
        Direction [rad] and its rate [rad/m]; see :func:`induced_curvature_expressions`.
    normal
        Side to which e_3 points.
    chart
        Index of the chart.

    Raises
    ------
    SurfaceError
        The chart is degenerate there.

    """
    surface.check_regular(uv, chart)
    known, key = surface._cache, ('induced', chart, normal)  # noqa: SLF001
    if key not in known:
        at, p = ca.SX.sym('uv', 2), ca.SX.sym('p', surface.parameters.numel())
        angle, rate = ca.SX.sym('phi'), ca.SX.sym('phi_rate')
        values = induced_curvature_expressions(surface.geometry(at, p, chart), angle, rate, normal)
        known[key] = ca.Function('induced', [at, p, angle, rate], list(values))
    values = known[key](np.asarray(uv, dtype=float), surface.parameter_values, phi, phi_rate)
    return InducedCurvature(*(float(v) for v in values))
