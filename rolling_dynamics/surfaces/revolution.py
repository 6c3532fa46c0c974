"""Cylinder and torus."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.surfaces.surface import Chart, Pair, Surface, UNBOUNDED, Vector

TURN = 2 * math.pi


def Cylinder(
    radius: float, *, side: str = 'outside', v_bounds: tuple[float, float] = UNBOUNDED
) -> Surface:
    """
    Return the cylinder (u, v) -> (radius cos u, radius sin u, v).

    Parameters
    ----------
    radius
        Radius [m], positive.
    side
        ``outside``, or ``inside`` for a gutter.
    v_bounds
        Ends along the axis [m].

    """
    if not (math.isfinite(radius) and radius > 0):
        raise ParameterError(f'cylinder: radius must be positive and finite, got {radius!r}')
    uv, r = ca.SX.sym('uv', 2), ca.SX.sym('radius')
    chart = Chart(
        name='cylinder',
        coordinates=uv,
        position=ca.vertcat(r * ca.cos(uv[0]), r * ca.sin(uv[0]), uv[1]),
        bounds=(UNBOUNDED, (v_bounds[0], v_bounds[1])),
        periods=(TURN, None),
        inverse=lambda p, _: (ca.atan2(p[1], p[0]), p[2]),
    )
    return Surface(
        name='cylinder', parameters=r, values={'radius': radius}, charts=(chart,), side=side
    )


def Torus(major: float, minor: float, *, side: str = 'outside') -> Surface:
    """
    Return the torus (u, v) -> (r cos v, r sin v, -minor sin u), r = major + minor cos u.

    The normal F_u x F_v points outwards.

    Parameters
    ----------
    major
        Radius of the circle of centres [m].
    minor
        Radius of the tube [m], 0 < minor < major.
    side
        ``outside`` or ``inside``.

    """
    if not (math.isfinite(major) and 0 < minor < major):
        raise ParameterError(f'torus: 0 < minor < major is needed, got {minor!r}, {major!r}')
    uv, p = ca.SX.sym('uv', 2), ca.SX.sym('radii', 2)
    ring = p[0] + p[1] * ca.cos(uv[0])
    position = ca.vertcat(ring * ca.cos(uv[1]), ring * ca.sin(uv[1]), -p[1] * ca.sin(uv[0]))

    def inverse(point: Vector, values: Vector) -> Pair:
        ring = ca.sqrt(point[0] ** 2 + point[1] ** 2) - values[0]
        return ca.atan2(-point[2], ring), ca.atan2(point[1], point[0])

    chart = Chart(
        name='torus', coordinates=uv, position=position, periods=(TURN, TURN), inverse=inverse
    )
    return Surface(
        name='torus',
        parameters=p,
        values={'major': major, 'minor': minor},
        charts=(chart,),
        side=side,
    )
