"""A smooth convex body close to the convex hull of points."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces.harmonic import harmonics

MAX_DEGREE = 12
ROUNDS = 40  # of adding the directions that curve too much
SHARE = 0.5  # of the least radius that is asked for has to be reached


@dataclass(frozen=True, eq=False)
class SupportFit:
    """
    Support function of a smooth convex body.

    Attributes
    ----------
    coefficients
        Of :func:`.harmonics` [m].
    error
        Greatest distance between the body and the hull [m]: that of their support functions.
    least_radius
        Least radius of curvature [m].

    """

    coefficients: Array
    error: float
    least_radius: float


def fit_support(given: ArrayLike, degree: int = 8, least_radius: float = 0.01) -> SupportFit:
    """
    Return the smooth convex body that is closest to the convex hull of points, in mean square.

    Its radii of curvature are bounded from below, so that it has no edges: with a support function
    that is a sum of spherical harmonics they are linear in the coefficients, and the closest one
    is a least distance problem (Lawson & Hanson, Solving Least Squares Problems, Chapter 23).

    Parameters
    ----------
    given
        Points, shape (N, 3) [m].
    degree
        Greatest degree of the harmonics, 2 to 12. The cost of the equations grows with its square.
    least_radius
        Least radius of curvature, as a share of the size of the body.

    Raises
    ------
    SurfaceError
        The points span no body, or no body of this degree is convex.

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
    wanted = _support(points, normals)
    coefficients = _closest(values, second, wanted, least_radius)
    check = _sphere(2 * len(normals) + 7)
    values, *second = _operators(degree, check)
    radius = float(_least(second, coefficients)[0].min())
    if not radius > 0:
        raise SurfaceError(
            f'no convex body of degree {degree} was found (minimum radius of curvature '
            f'{radius * size:.3g} m); raise the degree'
        )
    error = float(np.abs(values @ coefficients - _support(points, check)).max())
    coefficients = size * coefficients
    coefficients[[1, 2, 3]] += (low + high)[[1, 2, 0]] / 2 / np.sqrt(3)  # l = 1: a translation
    return SupportFit(coefficients, error * size, radius * size)


def _closest(values: Array, second: list[Array], wanted: Array, least: float) -> Array:
    """Return the coefficients, adding those directions that curve too much until none does."""
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
    """Return the least radius of curvature and the angle of its direction, at each normal."""
    a, b, d = (m @ coefficients for m in second)
    away = np.hypot((a - d) / 2, b)
    return (a + d) / 2 - away, np.arctan2(2 * b, a - d) / 2 + np.pi / 2


def _operators(degree: int, normals: Array) -> list[Array]:
    """Return what takes coefficients to h and to its second derivatives along two tangents."""
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


def _support(points: Array, normals: Array) -> Array:
    """Return the support function of points."""
    parts = np.array_split(normals, max(1, len(normals) * len(points) // 10**7))
    return np.concatenate([(part @ points.T).max(axis=1) for part in parts])


def _sphere(count: int) -> Array:
    """Return evenly spread unit vectors (golden spiral), shape (count, 3)."""
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    across = np.sqrt(1 - z * z)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), z])
