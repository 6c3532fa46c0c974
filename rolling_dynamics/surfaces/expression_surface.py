"""A surface whose chart the user writes as formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.surfaces.support import check_support
from rolling_dynamics.surfaces.surface import Chart, Surface, UNBOUNDED


def ExpressionSurface(
    position: Sequence[str | float],
    *,
    parameters: Mapping[str, float] | None = None,
    support: str | None = None,
    side: str = 'outside',
    u_bounds: tuple[float, float] = UNBOUNDED,
    v_bounds: tuple[float, float] = UNBOUNDED,
    periods: tuple[float | None, float | None] = (None, None),
) -> Surface:
    """
    Return the surface (u, v) -> position.

    Parameters
    ----------
    position
        Three formulas in ``u``, ``v`` and the names of ``parameters`` [m], thrice differentiable.
        The chart need not be orthogonal. F_u x F_v points out of the material, or into it if
        ``side`` is ``inside``.
    parameters
        Dimensions by name.
    support
        Formula of the support function h(nx, ny, nz) of a convex body, homogeneous of degree 1;
        with it an object has no chart singularities. It is compared with the chart.
    side
        ``outside`` or ``inside``.
    u_bounds, v_bounds
        Edges of the chart.
    periods
        Period of u and of v, None where there is none.

    Raises
    ------
    ExpressionError, SurfaceError
        A formula is not understood, the formulas give no surface, or the support function is that
        of another body.

    """
    if isinstance(position, str) or len(position) != 3:
        raise SurfaceError(f'a surface needs three formulas x, y, z, got {position!r}')
    parameters = dict(parameters or {})
    symbols = {name: ca.SX.sym(name) for name in parameters}
    clash = sorted({'u', 'v', 'nx', 'ny', 'nz'} & set(symbols))
    if clash:
        raise SurfaceError(
            f'a surface parameter may not be called {clash[0]!r}; choose another name'
        )
    uv = ca.SX.sym('uv', 2)
    names = {'u': uv[0], 'v': uv[1], **symbols}
    F = ca.vertcat(*(parse_expression(f, names) for f in position))
    for k, name in enumerate('uv'):
        if ca.jacobian(F, uv[k]).nnz() == 0:
            raise SurfaceError(
                f'the formulas {list(position)} do not depend on {name}: no surface'
            )
    chart = Chart(
        name='expression',
        coordinates=uv,
        position=F,
        bounds=((u_bounds[0], u_bounds[1]), (v_bounds[0], v_bounds[1])),
        periods=(periods[0], periods[1]),
    )

    def support_function(n: ca.SX) -> ca.SX:
        return parse_expression(support or '0', {'nx': n[0], 'ny': n[1], 'nz': n[2], **symbols})

    surface = Surface(
        name='expression',
        parameters=ca.vertcat(*symbols.values()) if symbols else ca.SX(0, 1),
        values=parameters,
        charts=(chart,),
        side=side,
        support=support_function if support is not None else None,
    )
    if support is not None:
        check_support(surface)
    return surface
