"""Plane and rectangular plate."""

from __future__ import annotations

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.surfaces.surface import Chart, Surface, UNBOUNDED


def Plane(
    *, u_bounds: tuple[float, float] = UNBOUNDED, v_bounds: tuple[float, float] = UNBOUNDED
) -> Surface:
    """
    Return the plane z = 0 with (u, v) -> (u, v, 0), normal +z.

    Parameters
    ----------
    u_bounds, v_bounds
        Edges of the plate [m]; unbounded by default.

    """
    for name, (low, high) in (('u_bounds', u_bounds), ('v_bounds', v_bounds)):
        if not low < high:
            raise ParameterError(f'plane: {name} must be increasing, got {(low, high)}')
    uv = ca.SX.sym('uv', 2)
    chart = Chart(
        name='plane',
        coordinates=uv,
        position=ca.vertcat(uv, 0),
        bounds=((u_bounds[0], u_bounds[1]), (v_bounds[0], v_bounds[1])),
        inverse=lambda p, _: (p[0], p[1]),
    )
    return Surface(name='plane', parameters=ca.SX(0, 1), values={}, charts=(chart,))
