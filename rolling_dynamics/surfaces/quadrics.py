"""Planes, ellipsoids and surfaces of revolution."""

from __future__ import annotations

import math

import casadi as ca
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.surfaces.surface import Chart, Pair, Surface, UNBOUNDED, Vector

# Axes (i, j, k): the poles of the chart lie on k, the longitude starts at i and turns towards j.
CHART_AXES = {'z': (0, 1, 2), 'x': (1, 2, 0), 'y': (2, 0, 1)}


def Ellipsoid(a: float, b: float, c: float, *, side: str = 'outside', pole: str = 'z') -> Surface:
    """
    Return the ellipsoid x^2/a^2 + y^2/b^2 + z^2/c^2 = 1.

    The chart is (u, v) -> (a sin u cos v, b sin u sin v, c cos u), 0 < u < pi; the atlas has two
    more charts with poles on the other axes.

    Parameters
    ----------
    a, b, c
        Semi-axes along x, y, z [m], positive.
    side
        ``outside``, or ``inside`` for a dish.
    pole
        Axis of the poles of the first chart, ``x``, ``y`` or ``z``.

    Examples
    --------
    >>> from rolling_dynamics import ContactSystem, Ellipsoid, Plane
    >>> system = ContactSystem(Ellipsoid(0.05, 0.04, 0.03), Plane())
    >>> system.parameters.entry('object_surface').components
    ('object_a', 'object_b', 'object_c')

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

    Examples
    --------
    >>> from rolling_dynamics import ContactSystem, Plane, Sphere
    >>> dish = Sphere(0.5, side='inside', pole='x')
    >>> ContactSystem(Sphere(0.05), dish).state.size
    22

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
    """Return three charts; ``semi`` has the indices of the semi-axes along x, y, z."""
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


def Plane(
    *, u_bounds: tuple[float, float] = UNBOUNDED, v_bounds: tuple[float, float] = UNBOUNDED
) -> Surface:
    """
    Return the plane z = 0 with (u, v) -> (u, v, 0), normal +z.

    Parameters
    ----------
    u_bounds, v_bounds
        Edges of the plate [m]; unbounded by default.

    Examples
    --------
    >>> from rolling_dynamics import Plane
    >>> Plane().name, Plane().is_inside([0.1, 0.2])
    ('plane', True)

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
    _check_lengths('cylinder', {'radius': radius})
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
