"""Ellipsoid and sphere, touched from outside or (a dish) from inside."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.surfaces.surface import Chart, Pair, Surface, Vector

# Axes (i, j, k): the poles of the chart lie on k, the longitude starts at i and turns towards j.
CHART_AXES = {'z': (0, 1, 2), 'x': (1, 2, 0), 'y': (2, 0, 1)}


def Ellipsoid(a: float, b: float, c: float, *, side: str = 'outside', pole: str = 'z') -> Surface:
    """
    Return the ellipsoid x^2/a^2 + y^2/b^2 + z^2/c^2 = 1.

    The chart is (u, v) -> (a sin u cos v, b sin u sin v, c cos u), 0 < u < pi; the atlas has two
    more whose poles lie on the other axes.

    Parameters
    ----------
    a, b, c
        Semi-axes along x, y, z [m], positive.
    side
        ``outside``, or ``inside`` for a dish.
    pole
        Axis of the poles of the first chart, ``x``, ``y`` or ``z``.

    """
    semi = {'a': a, 'b': b, 'c': c}
    _check_lengths('ellipsoid', semi)
    parameters = ca.SX.sym('semi_axes', 3)
    return Surface(
        name='ellipsoid',
        parameters=parameters,
        values=semi,
        side=side,
        charts=_charts(parameters, (0, 1, 2), pole),
        support=lambda n: ca.norm_2(parameters * n),
    )


def Sphere(radius: float, *, side: str = 'outside', pole: str = 'z') -> Surface:
    """
    Return the sphere (u, v) -> radius (sin u cos v, sin u sin v, cos u), 0 < u < pi.

    Parameters
    ----------
    radius
        Radius [m], positive.
    side
        ``outside``, or ``inside`` for a bowl.
    pole
        Axis of the poles of the first chart, ``x``, ``y`` or ``z``.

    """
    _check_lengths('sphere', {'radius': radius})
    parameters = ca.SX.sym('radius')
    return Surface(
        name='sphere',
        parameters=parameters,
        values={'radius': radius},
        side=side,
        charts=_charts(parameters, (0, 0, 0), pole),
        support=lambda n: parameters * ca.norm_2(n),
    )


def _check_lengths(kind: str, lengths: dict[str, float]) -> None:
    for name, value in lengths.items():
        if not (math.isfinite(value) and value > 0):
            raise ParameterError(f'{kind}: {name} must be positive and finite, got {value!r}')


def _charts(parameters: ca.SX, semi: tuple[int, int, int], pole: str) -> tuple[Chart, ...]:
    """Return three charts; ``semi`` tells which parameter is the semi-axis along x, y, z."""
    if pole not in CHART_AXES:
        raise ParameterError(f"pole must be 'x', 'y' or 'z', got {pole!r}")
    order = [pole, *(name for name in CHART_AXES if name != pole)]
    return tuple(_chart(name, CHART_AXES[name], parameters, semi) for name in order)


def _chart(
    name: str, axes: tuple[int, int, int], parameters: ca.SX, semi: tuple[int, int, int]
) -> Chart:
    uv = ca.SX.sym('uv', 2)
    u, v = uv[0], uv[1]
    i, j, k = axes
    position = ca.SX(3, 1)
    position[i] = parameters[semi[i]] * ca.sin(u) * ca.cos(v)
    position[j] = parameters[semi[j]] * ca.sin(u) * ca.sin(v)
    position[k] = parameters[semi[k]] * ca.cos(u)

    def inverse(point: Vector, values: Vector) -> Pair:
        x, y, z = (point[axis] / values[semi[axis]] for axis in axes)
        return ca.atan2(ca.sqrt(x * x + y * y), z), ca.atan2(y, x)

    return Chart(
        name=name,
        coordinates=uv,
        position=position,
        bounds=((0.0, math.pi), (-math.inf, math.inf)),
        periods=(None, 2 * math.pi),
        inverse=inverse,
    )
