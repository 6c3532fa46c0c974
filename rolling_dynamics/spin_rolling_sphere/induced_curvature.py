"""
Induced curvatures of a surface along a direction, and the rolling that two of them give.

The Darboux frame of a curve on a surface is (e_1, e_2, e_3): e_1 along the curve, e_3 a normal,
e_2 = e_3 x e_1, and de_1/ds = k_g e_2 + k_n e_3, de_2/ds = -k_g e_1 + tau_g e_3, Tafrishi et al.,
Eq. (48). Where two surfaces touch, Eq. (4) holds with one common e_3: the normal out of the fixed
surface, which points into the moving one.
"""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.small_matrices import inverse_2x2
from rolling_dynamics.surfaces import Surface
from rolling_dynamics.surfaces.surface import LocalGeometry

NORMALS = ('outward', 'inward')


class InducedCurvature(NamedTuple):
    """Normal curvature, geodesic torsion and geodesic curvature of a curve on a surface [1/m]."""

    k_n: float
    tau_g: float
    k_g: float


NONE = InducedCurvature(0.0, 0.0, 0.0)


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


def relative_angular_velocity(
    moving: InducedCurvature,
    fixed: InducedCurvature,
    virtual: InducedCurvature = NONE,
    delta: float = 1.0,
) -> NDArray[np.float64]:
    """
    Return the angular velocity of the moving body in the Darboux frame, Eqs. (4), (5).

    Parameters
    ----------
    moving, fixed
        Induced curvatures of both contact paths about the common normal: ``inward`` for the
        moving body, ``outward`` for the fixed one.
    virtual
        (gamma_s, beta_s, alpha_s) of the virtual surface.
    delta
        Rolling rate ds/dt [m/s].

    Returns
    -------
    NDArray
        Components along e_1, e_2, e_3 [rad/s].

    """
    k_n = moving.k_n - fixed.k_n - virtual.k_n
    tau_g = moving.tau_g - fixed.tau_g - virtual.tau_g
    k_g = moving.k_g - fixed.k_g - virtual.k_g
    return delta * np.array([-tau_g, k_n, -k_g])
