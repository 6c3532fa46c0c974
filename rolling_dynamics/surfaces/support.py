"""Surfaces given by an expression or a support function, also fitted to points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.expressions import parse_expression
from rolling_dynamics.surfaces.quadrics import CHART_AXES
from rolling_dynamics.surfaces.surface import Chart, Picture, Surface, UNBOUNDED

SAMPLES = 200  # points of the chart
TOLERANCE = 1e-6  # of the size of the body
REGULAR = 1e-4  # regularity of the chart below which a normal is too coarse to compare


@np.errstate(all='ignore')  # samples without a value are left out, or reported
def check_support(surface: Surface) -> None:
    """
    Reject a support function h that does not match the first chart of a surface.

    At sampled points F of the chart (seeded) with the normal n out of the convex body, the
    gradient of h at n must be F, and h(n) the largest n . x of all sampled points x: h is
    homogeneous of degree 1, and no point lies beyond its plane of support.

    Parameters
    ----------
    surface
        The surface, with a support function.

    Raises
    ------
    SurfaceError
        The text gives the worst point and its error [m].

    """
    uv, points, normals = _samples(surface)
    if not len(points):
        return
    values, gradients = _support(surface, normals)
    reach = (points @ normals.T).max(axis=0)
    size = float(np.ptp(points, axis=0).max())
    for what, given, needed in (
        ('its gradient there is {given}, the point of the chart {needed}', gradients, points),
        (
            'it is {given} there, the chart reaches {needed} along its normal',
            values[:, None],
            reach[:, None],
        ),
    ):
        off = np.linalg.norm(given - needed, axis=1)
        off[~np.isfinite(off)] = np.inf
        worst = int(np.argmax(off))
        if off[worst] > TOLERANCE * size:
            fault = what.format(given=_text(given[worst]), needed=_text(needed[worst]))
            raise SurfaceError(
                f'support: does not belong to the chart: at (u, v) = ({uv[worst, 0]:.6g}, '
                f'{uv[worst, 1]:.6g}) {fault}: error {off[worst]:.6g} m; give the support '
                'function of this body, out of which F_u x F_v points, or leave it out'
            )


def _samples(surface: Surface) -> tuple[Array, Array, Array]:
    """Return (u, v), points and normals out of the body at regular points of the first chart."""
    rng = np.random.default_rng(0)
    uv = rng.uniform(*surface.box(), size=(SAMPLES, 2))
    position, frame, metric = surface.numeric().map(SAMPLES)(uv.T, surface.parameter_values)[:3]
    points = np.array(position).T
    normals = np.array(frame).reshape(3, SAMPLES, 3)[:, :, 2].T
    G = np.array(metric).reshape(2, SAMPLES, 2)
    det = G[0, :, 0] * G[1, :, 1] - G[0, :, 1] * G[1, :, 0]
    regular = np.sqrt(det) > REGULAR / 2 * (G[0, :, 0] + G[1, :, 1])
    good = regular & np.isfinite(np.hstack([points, normals])).all(axis=1)
    sign = -1 if surface.side == 'inside' else 1
    return uv[good], points[good], sign * normals[good]


def _support(surface: Surface, normals: Array) -> tuple[Array, Array]:
    """Return h and its gradient at normals."""
    n, p = ca.SX.sym('n', 3), ca.SX.sym('p', surface.parameters.numel())
    assert surface.support is not None  # noqa: S101 (asked for by the caller)
    h = ca.substitute(surface.support(n), surface.parameters, p)
    f = ca.Function('support', [n, p], [h, ca.densify(ca.gradient(h, n))])
    h1, gradient = f.map(len(normals))(normals.T, surface.parameter_values)
    return np.array(h1).ravel(), np.array(gradient).T


def _text(values: Array) -> str:
    return ', '.join(f'{v:.6g}' for v in values)


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
        with it an object has no chart singularities. It is checked against the chart.
    side
        ``outside`` or ``inside``.
    u_bounds, v_bounds
        Edges of the chart.
    periods
        Period of u and of v, None if there is none.

    Raises
    ------
    ExpressionError, SurfaceError
        A formula is invalid, the formulas do not define a surface, or the support function belongs
        to another body.

    Examples
    --------
    >>> from rolling_dynamics import ContactSystem, ExpressionSurface, Sphere
    >>> trough = ExpressionSurface(['u', 'v', 'k*u**2'], parameters={'k': 0.8})
    >>> ContactSystem(Sphere(0.05), trough).name, trough.name
    ('contact', 'expression')

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


def harmonics(n: ca.SX, degree: int) -> ca.SX:
    """
    Return |n| Y_lm(n / |n|) for all real spherical harmonics up to a degree.

    Parameters
    ----------
    n
        Vector, 3 entries.
    degree
        Maximum l.

    Returns
    -------
    casadi.SX
        (degree + 1)^2 entries, for l and m at l^2 + l + m; their mean square over the sphere
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
    """Return the degree of spherical harmonics for a vector of coefficients [m]."""
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
        Coefficients of :func:`harmonics` [m], shape ((degree + 1)^2,).
    pole
        Axis of the poles of the chart, ``x``, ``y`` or ``z``. The chart takes (u, v) to the point
        whose outward normal has the polar angle u, 0 < u < pi, and the longitude v.
    picture
        Mesh to draw of the body that this one approximates.

    Raises
    ------
    SurfaceError
        The number of coefficients does not fit any degree, or there is no such pole.

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


MAX_DEGREE = 12
MIN_RADIUS = 0.01  # of curvature, as a fraction of the size of the body
ROUNDS = 40  # of adding the directions with too much curvature
SHARE = 0.5  # fraction of the requested minimum radius that has to be reached


@dataclass(frozen=True, eq=False)
class SupportFit:
    """
    Support function of a smooth convex body.

    Attributes
    ----------
    coefficients
        Coefficients of :func:`.harmonics` [m].
    error
        Maximum distance between the body and the hull [m], by their support functions.
    least_radius
        Minimum radius of curvature [m].

    """

    coefficients: Array
    error: float
    least_radius: float


def fit_support(given: ArrayLike, degree: int = 8) -> SupportFit:
    """
    Return the smooth convex body that is closest to the convex hull of points, in mean square.

    Its radii of curvature are bounded from below, so that it has no edges: with a support function
    that is a sum of spherical harmonics they are linear in the coefficients, and the closest one
    is a least-distance problem (Lawson & Hanson, Solving Least Squares Problems, Chapter 23).

    Parameters
    ----------
    given
        Points, shape (N, 3) [m].
    degree
        Maximum degree of the harmonics, 2 to 12. The cost of the equations grows with its square.

    Raises
    ------
    SurfaceError
        The points do not span a body, or no body of this degree is convex.

    """
    points: Array = np.array(given, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise SurfaceError(f'a body needs at least 4 points of 3 numbers, got {points.shape}')
    if not np.all(np.isfinite(points)):
        raise SurfaceError('all points of a body must be finite')
    if not 2 <= degree <= MAX_DEGREE:
        raise SurfaceError(f'degree must be from 2 to {MAX_DEGREE}, got {degree}')
    low, high = points.min(axis=0), points.max(axis=0)
    size = float((high - low).max())
    if not (high - low).min() > 1e-6 * size:
        raise SurfaceError('the points lie in a plane; a body is needed')
    points = np.array((points - (low + high) / 2) / size)
    normals = _sphere(max(1500, 30 * (degree + 1) ** 2))
    values, *second = _operators(degree, normals)
    wanted = _support_of_points(points, normals)
    coefficients = _closest(values, second, wanted, MIN_RADIUS)
    check = _sphere(2 * len(normals) + 7)
    values, *second = _operators(degree, check)
    radius = float(_least(second, coefficients)[0].min())
    if not radius > 0:
        raise SurfaceError(
            f'no convex body of degree {degree} was found (minimum radius of curvature '
            f'{radius * size:.3g} m); raise the degree'
        )
    error = float(np.abs(values @ coefficients - _support_of_points(points, check)).max())
    coefficients = size * coefficients
    coefficients[[1, 2, 3]] += (low + high)[[1, 2, 0]] / 2 / np.sqrt(3)  # l = 1: a translation
    return SupportFit(coefficients, error * size, radius * size)


def _closest(values: Array, second: list[Array], wanted: Array, least: float) -> Array:
    """Return the coefficients, adding constraints for directions with too much curvature."""
    from scipy.optimize import nnls  # noqa: PLC0415  rarely needed, and large

    gram = values.T @ values + 1e-10 * len(values) * np.eye(values.shape[1])
    root = np.linalg.cholesky(gram).T
    free = np.linalg.solve(gram, values.T @ wanted).astype(float)
    out = free
    rows: Array = np.zeros((0, len(free)))
    for _ in range(ROUNDS):
        radius, angle = _least(second, out)
        sharp = radius < SHARE * least
        if not sharp.any():
            break
        c, s = np.cos(angle[sharp])[:, None], np.sin(angle[sharp])[:, None]
        rows = np.vstack(
            [
                rows,
                sum(k * m[sharp] for k, m in zip((c * c, 2 * c * s, s * s), second, strict=True)),
            ]
        )
        off = least - rows @ free
        problem = np.vstack([np.linalg.solve(root.T, rows.T), off])
        target = np.zeros(len(problem))
        target[-1] = 1.0
        dual, _ = nnls(problem, target, maxiter=100 * len(rows))
        residual = problem @ dual - target
        out = free - np.linalg.solve(root, residual[:-1] / residual[-1])
    return out


def _least(second: list[Array], coefficients: Array) -> tuple[Array, Array]:
    """Return the minimum radius of curvature and the angle of its direction, at each normal."""
    a, b, d = (m @ coefficients for m in second)
    away = np.hypot((a - d) / 2, b)
    return (a + d) / 2 - away, np.arctan2(2 * b, a - d) / 2 + np.pi / 2


def _operators(degree: int, normals: Array) -> list[Array]:
    """Return the matrices from coefficients to h and its second derivatives along two tangents."""
    n, s, t = (ca.SX.sym(name, 3) for name in 'nst')
    h = harmonics(n, degree)

    def second(a: ca.SX, b: ca.SX) -> ca.SX:
        return ca.jtimes(ca.jtimes(h, n, a), n, b)

    f = ca.Function('operators', [n, s, t], [h, second(s, s), second(s, t), second(t, t)])
    aside = np.where(np.abs(normals[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    x = np.cross(normals, aside)
    x /= np.linalg.norm(x, axis=1)[:, None]
    y = np.cross(normals, x)
    return [np.array(m).T for m in f.map(len(normals))(normals.T, x.T, y.T)]


def _support_of_points(points: Array, normals: Array) -> Array:
    """Return the support function of points."""
    parts = np.array_split(normals, max(1, len(normals) * len(points) // 10**7))
    return np.concatenate([(part @ points.T).max(axis=1) for part in parts])


def _sphere(count: int) -> Array:
    """Return evenly spread unit vectors (golden spiral), shape (count, 3)."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    across = np.sqrt(1 - z * z)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), z])
