"""The charts of a surface as an atlas: locating a point on any of them, choosing the best."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import SurfaceError
from rolling_dynamics.surfaces.surface import Surface

POLE = 1e-6  # regularity of a chart below which its coordinates are of no use


def locate_on_chart(
    surface: Surface,
    point: ArrayLike,
    chart: int,
    parameters: ArrayLike | None = None,
    near: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """
    Return the coordinates of a point of the surface on one of its charts, to rounding.

    Parameters
    ----------
    surface
        The surface.
    point
        Point [m], shape (3,), in the body frame.
    chart
        Index of the chart.
    parameters
        Dimensions; those of the surface if None.
    near
        Coordinates that choose the period, and start the search where no inverse is known.

    Returns
    -------
    NDArray[np.float64]
        Shape (2,).

    Raises
    ------
    SurfaceError
        The point is not on the surface.

    """
    c, point = surface.charts[chart], np.asarray(point, dtype=float)
    values = surface.parameter_values if parameters is None else np.asarray(parameters, float)
    if c.inverse is not None:
        uv = np.asarray(c.inverse(point, values), dtype=float)
        if near is not None:
            target = np.asarray(near, dtype=float)
            for k, period in enumerate(c.periods):
                if period:
                    uv[k] += period * round((target[k] - uv[k]) / period)
    elif near is not None:
        try:
            uv = _polished(surface, point, chart, values, np.array(near, dtype=float))
        except SurfaceError:  # too far away
            uv = surface.locate(point, chart, near)
        else:
            uv = uv if surface.is_inside(uv, chart) else surface.locate(point, chart, near)
    else:
        uv = surface.locate(point, chart)
    return _polished(surface, point, chart, values, uv)


def _polished(
    surface: Surface,
    point: NDArray[np.float64],
    chart: int,
    values: NDArray[np.float64],
    uv: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return uv after Gauss-Newton steps, as long as they bring it closer to the point."""
    function = surface.numeric(chart)
    best, apart = uv, np.inf
    for _ in range(4):
        position, frame, _, scale, *_ = (np.array(a) for a in function(uv, values))
        residual = point - position.reshape(3)
        size = float(np.linalg.norm(residual))
        if not size < 0.5 * apart:
            break
        best, apart = uv, size
        if abs(scale[0, 0] * scale[1, 1]) < 1e-30:
            break
        uv = uv + np.linalg.solve(scale, frame[:, :2].T @ residual)
    if not apart <= 1e-6 * max(float(np.linalg.norm(point)), 1e-3):
        raise SurfaceError(
            f'{surface.name}: the point {point.tolist()} lies {apart:.3g} m off the chart '
            f'{surface.charts[chart].name!r}'
        )
    return best


def regularities(
    surface: Surface, point: ArrayLike, parameters: ArrayLike | None = None
) -> NDArray[np.float64]:
    """
    Return how far each chart is from degenerate at a point [m], shape (charts,).

    1 where it is best, 0 at a pole or a fold and where it misses the point.
    """
    values = surface.parameter_values if parameters is None else np.asarray(parameters, float)
    out = np.zeros(len(surface.charts))
    for k in range(out.size):
        try:
            uv = locate_on_chart(surface, point, k, values)
        except SurfaceError:
            continue
        value = float(regularity_function(surface, k)(uv, values))
        out[k] = value if np.isfinite(value) else 0.0
    return out


def best_chart(surface: Surface, point: ArrayLike, parameters: ArrayLike | None = None) -> int:
    """Return the index of the chart that is furthest from degenerate at a point, 3 numbers [m]."""
    return int(np.argmax(regularities(surface, point, parameters)))


def contact_frame(
    surface: Surface, uv: ArrayLike, parameters: ArrayLike | None = None
) -> NDArray[np.float64]:
    """
    Return the contact frame of the first chart at (u, v), shape (3, 3), in the body frame.

    At a pole that another chart covers, x follows the meridian v.

    Raises
    ------
    SurfaceError
        The chart is degenerate there, and the only one.

    """
    uv = np.asarray(uv, dtype=float)
    values = surface.parameter_values if parameters is None else np.asarray(parameters, float)
    if len(surface.charts) == 1:
        surface.check_regular(uv)
    if len(surface.charts) == 1 or surface.regularity(uv) > POLE:
        return np.array(surface.numeric()(uv, values)[1])
    point = np.array(surface.numeric()(uv, values)[0]).ravel()
    best = best_chart(surface, point, values)
    there = locate_on_chart(surface, point, best, values)
    n = np.array(surface.numeric(best)(there, values)[1])[:, 2]
    along_u = np.array(surface.tangents(uv, values))[:, 0]
    x = along_u - n * (n @ along_u)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(n, x), n])


def regularity(surface: Surface, uv: ca.SX, parameters: ca.SX, chart: int = 0) -> ca.SX:
    """
    Return the expression of how far a chart is from degenerate.

    1 where the two chart directions are orthogonal and equally long, 0 at a pole or a fold.
    """
    G = surface.geometry(uv, parameters, chart).metric
    det = G[0, 0] * G[1, 1] - G[0, 1] * G[1, 0]
    return 2 * ca.sqrt(ca.fmax(det, 0)) / (G[0, 0] + G[1, 1])


@lru_cache(maxsize=64)
def regularity_function(surface: Surface, chart: int = 0) -> ca.Function:
    """Return ``(uv, parameters) -> regularity``."""
    uv, p = ca.SX.sym('uv', 2), ca.SX.sym('p', surface.parameters.numel())
    return ca.Function('regularity', [uv, p], [regularity(surface, uv, p, chart)])
