"""Curvatures that a curve on a surface has by it: Tafrishi et al., Eqs. (4), (5), (77)."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.rotations import inverse_2x2
from rolling_dynamics.surfaces import Surface
from rolling_dynamics.surfaces.surface import LocalGeometry

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
