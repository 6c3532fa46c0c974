"""Smooth convex bodies by their support function, a sum of spherical harmonics."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces.ellipsoid import CHART_AXES
from rolling_dynamics.surfaces.surface import Chart, Picture, Surface


def harmonics(n: ca.SX, degree: int) -> ca.SX:
    """
    Return |n| Y_lm(n / |n|) for all real spherical harmonics up to a degree.

    Parameters
    ----------
    n
        A vector, 3 entries.
    degree
        Greatest l.

    Returns
    -------
    casadi.SX
        (degree + 1)^2 entries, that of l and m at l^2 + l + m; their mean square over the sphere
        is 1. As each is homogeneous of degree 1, a sum of them can be a support function.

    """
    length = ca.norm_2(n)
    x, y, z = ca.vertsplit(n / length)
    out = [ca.SX(0)] * (degree + 1) ** 2
    cosine, sine, first = ca.SX(1), ca.SX(0), 1.0
    for m in range(degree + 1):
        if m:
            cosine, sine = x * cosine - y * sine, x * sine + y * cosine
            first *= math.sqrt((2 * m + 1) / (2 * m))
        before, now = ca.SX(0), ca.SX(first)
        for k in range(m, degree + 1):  # recursion of the associated Legendre functions
            if k > m:
                a = math.sqrt((4 * k * k - 1) / (k * k - m * m))
                b = math.sqrt(((k - 1) ** 2 - m * m) / max(4 * (k - 1) ** 2 - 1, 1))
                before, now = now, a * (z * now - b * before)
            where = k * k + k
            out[where + m] = now * cosine * (math.sqrt(2) if m else 1)
            if m:
                out[where - m] = math.sqrt(2) * now * sine
    return length * ca.vertcat(*out)


def degree_of(coefficients: ArrayLike) -> int:
    """Return the greatest degree of spherical harmonics with a vector of coefficients [m]."""
    count = np.size(coefficients)
    degree = math.isqrt(count) - 1
    if degree < 0 or (degree + 1) ** 2 != count:
        raise SurfaceError(
            f'harmonic: (degree + 1)^2 coefficients are needed, such as 81, got {count}'
        )
    return degree


def HarmonicBody(
    coefficients: ArrayLike, *, pole: str = 'z', picture: Picture | None = None
) -> Surface:
    """
    Return the convex body whose support function is a sum of spherical harmonics.

    Parameters
    ----------
    coefficients
        Of :func:`harmonics` [m], (degree + 1)^2 numbers.
    pole
        Axis of the poles of the chart, ``x``, ``y`` or ``z``. The chart takes (u, v) to the point
        whose outward normal has the polar angle u, 0 < u < pi, and the longitude v.
    picture
        What is drawn of the body that this one is close to.

    Raises
    ------
    SurfaceError
        The number of coefficients belongs to no degree, or there is no such pole.

    """
    given = np.asarray(coefficients, dtype=float).ravel()
    degree = degree_of(given)
    if pole not in CHART_AXES:
        raise SurfaceError(f"pole must be 'x', 'y' or 'z', got {pole!r}")
    if not np.all(np.isfinite(given)):
        raise SurfaceError('harmonic: all coefficients must be finite')

    def support(n: ca.SX) -> ca.SX:
        return ca.dot(ca.DM(given), harmonics(n, degree))

    uv, n = ca.SX.sym('uv', 2), ca.SX.sym('n', 3)
    normal = ca.SX(3, 1)
    angles = (ca.sin(uv[0]) * ca.cos(uv[1]), ca.sin(uv[0]) * ca.sin(uv[1]), ca.cos(uv[0]))
    for axis, value in zip(CHART_AXES[pole], angles, strict=True):
        normal[axis] = value
    chart = Chart(
        name=pole,
        coordinates=uv,
        position=ca.substitute(ca.gradient(support(n), n), n, normal),
        bounds=((0.0, math.pi), (-math.inf, math.inf)),
        periods=(None, 2 * math.pi),
    )
    return Surface(
        name='harmonic',
        parameters=ca.SX(0, 1),
        values={},
        charts=(chart,),
        support=support,
        picture=picture,
    )
