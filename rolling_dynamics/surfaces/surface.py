"""Surfaces in orthogonal coordinates, grids on them, and the atlas of the charts of a surface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
import math
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError, SurfaceError

Vector = Array | ca.SX
Pair = tuple[float, float] | tuple[ca.SX, ca.SX]
UNBOUNDED = (-math.inf, math.inf)
REGULAR = 1e-9  # minimum sine between, and relative length of, the two chart directions


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart:
    """
    One chart of a surface.

    Attributes
    ----------
    name
        Distinguishes the charts of one surface.
    coordinates
        Symbols (u, v).
    position
        Expression of the point [m], 3 entries, in the body frame.
    bounds
        Minimum and maximum u and v.
    periods
        Period of u and of v, None if there is none.
    inverse
        ``(point, parameters) -> (u, v)`` for a point of the surface, for both numbers and
        expressions; None if not known in closed form.

    """

    name: str
    coordinates: ca.SX
    position: ca.SX
    bounds: tuple[tuple[float, float], tuple[float, float]] = (UNBOUNDED, UNBOUNDED)
    periods: tuple[float | None, float | None] = (None, None)
    inverse: Callable[[Any, Any], Pair] | None = None


class LocalGeometry(NamedTuple):
    """
    Geometry of a chart at a point, as expressions.

    Attributes
    ----------
    position
        F(u, v) [m], in the body frame.
    frame
        Rotation matrix [x, y, n] from the contact frame to the body frame, Eq. (25).
    metric
        Metric tensor G, Eq. (26).
    scale
        T, 2x2, upper triangular, with F_u, F_v = (x, y) T, so that G = T^T T; on an orthogonal
        chart touched from outside it is the sqrt(G) of the paper.
    second_form
        Second fundamental form L in the chart, Eq. (27), for the normal out of the material.
    curvature
        H = T^-T L T^-1 [1/m], Eq. (28): negative for a convex body.
    connection
        1x2: y . dx/du and y . dx/dv, the rotation of the contact frame about its normal; on an
        orthogonal chart it is sigma Gamma of Eqs. (29), (32).

    """

    position: ca.SX
    frame: ca.SX
    metric: ca.SX
    scale: ca.SX
    second_form: ca.SX
    curvature: ca.SX
    connection: ca.SX


@dataclass(frozen=True, eq=False)
class Picture:
    """
    Mesh to draw of a body that the surface only approximates.

    Attributes
    ----------
    vertices
        Shape (N, 3) [m], in the body frame.
    triangles
        Indices of their vertices, anticlockwise from outside, shape (M, 3).

    """

    vertices: Array
    triangles: NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Surface:
    """
    A surface of a body.

    Attributes
    ----------
    name
        Type of surface.
    parameters
        Symbols of its dimensions.
    values
        Dimension by name, in the order of ``parameters``.
    charts
        At least one chart; together they should cover the surface.
    side
        ``outside`` or ``inside``: where the other body touches it. Inside, the normal has
        the opposite sign and y points to decreasing v.
    support
        Support function h(n) of a convex body as ``n -> expression``, homogeneous of degree 1; its
        gradient is the point with outward normal n. None if not known or not convex.
    picture
        Mesh to draw; the first chart if None.

    """

    name: str
    parameters: ca.SX
    values: Mapping[str, float]
    charts: tuple[Chart, ...]
    side: str = 'outside'
    support: Callable[[ca.SX], ca.SX] | None = None
    picture: Picture | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Reject an invalid surface."""
        if self.side not in ('outside', 'inside'):
            raise SurfaceError(
                f"{self.name}: side must be 'outside' or 'inside', got {self.side!r}"
            )
        if self.parameters.numel() != len(self.values):
            raise SurfaceError(
                f'{self.name}: {self.parameters.numel()} parameters need as many values'
            )
        for name, value in self.values.items():
            if not math.isfinite(value):
                raise ParameterError(f'{self.name}: {name} must be finite, got {value!r}')

    @property
    def chart(self) -> Chart:
        """The first chart, which topics and plots use."""
        return self.charts[0]

    @cached_property
    def parameter_values(self) -> Array:
        """Values of the dimensions, in the order of ``parameters``."""
        return np.array(list(self.values.values()), dtype=float)

    def geometry(self, uv: ca.SX, parameters: ca.SX, chart: int = 0) -> LocalGeometry:
        """
        Return the geometry of a chart at (u, v), as expressions.

        Parameters
        ----------
        uv
            Chart coordinates, 2 entries.
        parameters
            Dimensions, in the order of ``parameters``.
        chart
            Index of the chart.

        Returns
        -------
        LocalGeometry
            Woodruff & Lynch, Eqs. (25)-(31).

        """
        c = self.charts[chart]
        g = _geometry(c, -1.0 if self.side == 'inside' else 1.0)
        here = [uv, parameters]
        return LocalGeometry(*ca.substitute([*g], [c.coordinates, self.parameters], here))

    def contact_frame(self, point: ca.SX, normal: ca.SX, parameters: ca.SX) -> ca.SX:
        """
        Return the contact frame of the first chart at a point, for a point from any chart.

        Parameters
        ----------
        point
            Point of the surface [m], 3 entries, in the body frame.
        normal
            Unit normal there, out of the material.
        parameters
            Dimensions, in the order of ``parameters``.

        Returns
        -------
        casadi.SX
            Rotation matrix [x, y, n] from the contact frame to the body frame. At a pole of the
            chart, x follows the meridian v = 0.

        Raises
        ------
        SurfaceError
            The inverse of the first chart is not known in closed form.

        """
        c = self.chart
        if c.inverse is None:
            raise SurfaceError(
                f'{self.name}: the inverse of the first chart {c.name!r} must be known in closed '
                'form where another chart is used; give the chart an inverse'
            )
        along_u = ca.substitute(
            ca.jacobian(c.position, c.coordinates)[:, 0],
            ca.vertcat(c.coordinates, self.parameters),
            ca.vertcat(*c.inverse(point, parameters), parameters),
        )
        x = along_u - normal * ca.dot(normal, along_u)
        x = x / ca.norm_2(x)
        return ca.horzcat(x, ca.cross(normal, x), normal)

    def numeric(self, chart: int = 0) -> ca.Function:
        """Return ``(uv, parameters) -> position, frame, metric, scale, second_form, ...``."""
        if ('numeric', chart) not in self._cache:
            uv, p = ca.SX.sym('uv', 2), ca.SX.sym('p', self.parameters.numel())
            g = self.geometry(uv, p, chart)
            names = ['uv', 'p'], list(g._fields)
            self._cache['numeric', chart] = ca.Function('geometry', [uv, p], [*g], *names)
        function: ca.Function = self._cache['numeric', chart]
        return function

    def tangents(self, uv: ArrayLike, parameters: ArrayLike) -> Array:
        """Return F_u and F_v of the first chart [m], shape (3, 2), in the body frame."""
        if 'tangents' not in self._cache:
            c = self.chart
            dF = ca.jacobian(c.position, c.coordinates)
            inputs = [c.coordinates, self.parameters]
            self._cache['tangents'] = ca.Function('tangents', inputs, [ca.densify(dF)])
        return np.array(self._cache['tangents'](np.asarray(uv), np.asarray(parameters)))

    def point(self, uv: ArrayLike, chart: int = 0) -> Array:
        """Return the point F(u, v) [m], shape (3,), in the body frame."""
        uv = np.asarray(uv, dtype=float)
        return np.array(self.numeric(chart)(uv, self.parameter_values)[0]).reshape(3)

    def regularity(
        self, uv: ArrayLike, chart: int = 0, parameters: ArrayLike | None = None
    ) -> float:
        """
        Return the regularity of the chart at (u, v).

        1 where the two chart directions are orthogonal and equally long, 0 at a pole or a fold,
        and where it is not finite. ``parameters`` are the surface's if None.
        """
        values = self.parameter_values if parameters is None else np.asarray(parameters, float)
        regular = float(regularity_function(self, chart)(np.asarray(uv, dtype=float), values))
        return regular if math.isfinite(regular) else 0.0

    def box(self) -> tuple[Array, Array]:
        """
        Return minimum and maximum (u, v) of the part of the first chart that is sampled.

        Without bounds it is one period, or -1 to 1.
        """
        periods = [(-1.0, 1.0) if not period else (0.0, period) for period in self.chart.periods]
        bounds = np.array(self.chart.bounds, dtype=float)
        low, high = np.where(np.isfinite(bounds), bounds, periods).T
        return low, high

    def check_regular(
        self, uv: ArrayLike, chart: int = 0, parameters: ArrayLike | None = None, what: str = ''
    ) -> None:
        """
        Raise SurfaceError if the chart is degenerate or NaN at (u, v).

        ``parameters`` are the surface's if None; ``what`` is the start of the error text.
        """
        uv = np.asarray(uv, dtype=float)
        if not self.regularity(uv, chart, parameters) > REGULAR:
            raise SurfaceError(
                f'{what}{self.name}: the chart {self.charts[chart].name!r} is degenerate at '
                f'(u, v) = ({uv[0]:.6g}, {uv[1]:.6g}); start at a point away from its poles and '
                'edges'
            )

    def is_inside(self, uv: ArrayLike, chart: int = 0) -> bool:
        """Return whether (u, v) lies within the bounds of a chart, if it is not periodic."""
        c = self.charts[chart]
        return all(
            bool(period) or low <= value <= high
            for value, (low, high), period in zip(np.asarray(uv), c.bounds, c.periods, strict=True)
        )

    def locate(
        self,
        point: ArrayLike,
        chart: int = 0,
        near: ArrayLike | None = None,
        values: ArrayLike | None = None,
    ) -> Array:
        """
        Return the coordinates (u, v) of a point of the surface.

        Parameters
        ----------
        point
            Point [m], shape (3,), in the body frame.
        chart
            Index of the chart.
        near
            Start of the search if the inverse of the chart is not known, and choice of the period.
        values
            Dimensions in that inverse; the surface's if None.

        Returns
        -------
        NDArray
            Shape (2,).

        Raises
        ------
        SurfaceError
            There are no such coordinates.

        """
        c, point = self.charts[chart], np.asarray(point, dtype=float)
        if c.inverse is not None:
            own = self.parameter_values if values is None else np.asarray(values, dtype=float)
            uv = np.asarray(c.inverse(point, own), dtype=float)
        else:
            uv = self._search(point, chart, near)
        if near is not None:
            wanted = np.asarray(near, dtype=float)
            for k, period in enumerate(c.periods):
                if period:
                    uv[k] += period * round((wanted[k] - uv[k]) / period)
        return uv

    def _search(self, point: Array, chart: int, near: ArrayLike | None) -> Array:
        from scipy.optimize import least_squares  # noqa: PLC0415  rarely needed, and large

        starts = [np.asarray(near, dtype=float)] if near is not None else []
        low, high = self.box()
        outside: Array | None = None  # the same point, such as across a pole of the chart
        starts += list(np.random.default_rng(0).uniform(low, high, size=(20, 2)))
        for start in starts:
            found = least_squares(
                lambda uv: self.point(uv, chart) - point, start, xtol=1e-15, ftol=1e-15, gtol=1e-15
            )
            if np.linalg.norm(found.fun) < 1e-9 * max(1.0, float(np.linalg.norm(point))):
                uv: Array = found.x
                if self.is_inside(uv, chart):
                    return uv
                outside = uv if outside is None else outside
        if outside is not None:
            return outside
        raise SurfaceError(f'{self.name}: no (u, v) gives the point {point.tolist()}')


def _geometry(chart: Chart, sign: float) -> LocalGeometry:
    """Differentiate a chart; sign is that of the normal along F_u x F_v."""
    F, uv = chart.position, chart.coordinates
    dF = ca.jacobian(F, uv)  # x_c, y_c of Appendix B-A
    Fu, Fv = dF[:, 0], dF[:, 1]
    cross = ca.cross(Fu, Fv)
    n = sign * cross / ca.norm_2(cross)
    x = Fu / ca.norm_2(Fu)
    y = ca.cross(n, x)
    scale = ca.vertcat(ca.horzcat(ca.norm_2(Fu), ca.dot(x, Fv)), ca.horzcat(0, ca.dot(y, Fv)))
    metric = dF.T @ dF  # (26)
    second = ca.SX(2, 2)
    for j in range(2):
        dFj = ca.jacobian(dF[:, j], uv)
        for k in range(2):
            second[j, k] = ca.dot(dFj[:, k], n)  # (27)
    inverse = _inverse_upper(scale)
    return LocalGeometry(
        position=F,
        frame=ca.horzcat(x, y, n),
        metric=metric,
        scale=scale,
        second_form=second,
        curvature=inverse.T @ second @ inverse,  # (28)
        connection=y.T @ ca.jacobian(x, uv),  # (29): sigma Gamma on an orthogonal chart
    )


def _inverse_upper(t: ca.SX) -> ca.SX:
    """Return the inverse of an upper triangular 2x2 matrix."""
    return ca.vertcat(
        ca.horzcat(1 / t[0, 0], -t[0, 1] / (t[0, 0] * t[1, 1])), ca.horzcat(0, 1 / t[1, 1])
    )


CELLS = 24  # cells of a mesh along each direction
CHEQUER = 3  # cells of a square of the chequer pattern


def drawn_cells(surface: Surface, box: Array) -> tuple[Array, NDArray[np.int_], NDArray[np.int_]]:
    """
    Return the mesh of a surface: its picture, or the first chart over a box.

    Parameters
    ----------
    surface
        The surface.
    box
        Minimum and maximum u and v, shape (2, 2).

    Returns
    -------
    points
        In the frame of the body [m], shape (N, 3).
    corners, colour
        Corners and colours of cells, see :func:`grid_cells`; a triangle repeats its last corner.

    """
    picture = surface.picture
    if picture is None:
        points = surface_points(surface, box, CELLS + 1).reshape(-1, 3)
        return points, *grid_cells(CELLS + 1, CELLS + 1)
    x, y, z = picture.vertices[picture.triangles].mean(axis=1).T
    angles = np.arctan2(np.hypot(x, y), z), np.arctan2(y, x) % (2 * np.pi)
    wide = np.pi * CHEQUER / CELLS, 2 * np.pi * CHEQUER / CELLS
    colour = sum((a // w).astype(int) for a, w in zip(angles, wide, strict=True)) % 2
    return picture.vertices, picture.triangles[:, [0, 1, 2, 2]], np.asarray(colour)


def surface_points(surface: Surface, box: Array, count: int) -> Array:
    """
    Return points of the first chart of a surface on a grid.

    Parameters
    ----------
    surface
        The surface.
    box
        Minimum and maximum u and v, shape (2, 2).
    count
        Points along each coordinate.

    Returns
    -------
    NDArray
        In the frame of the body [m], shape (count, count, 3).

    """
    uv = np.linspace(box[0], box[1], count)
    grid = np.stack(np.meshgrid(uv[:, 0], uv[:, 1], indexing='ij'), axis=-1).reshape(-1, 2)
    points = surface.numeric().map(len(grid))(grid.T, surface.parameter_values)[0]
    return np.array(points).T.reshape(count, count, 3)


def grid_cells(rows: int, columns: int) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """
    Return the cells of a grid of points, chequered.

    Parameters
    ----------
    rows, columns
        Points of the grid along each direction.

    Returns
    -------
    corners
        Indices of the points of each cell, anticlockwise about the surface's normal, shape (N, 4).
    colour
        0 or 1 for each cell, shape (N,).

    """
    i, j = (
        a.ravel() for a in np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing='ij')
    )
    first = i * columns + j
    corners = np.column_stack([first, first + columns, first + columns + 1, first + 1])
    return corners, (i // CHEQUER + j // CHEQUER) % 2


POLE = 1e-6  # regularity of a chart below which its coordinates are not usable


def locate_on_chart(
    surface: Surface,
    point: ArrayLike,
    chart: int,
    parameters: ArrayLike | None = None,
    near: ArrayLike | None = None,
) -> Array:
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
        Dimensions; the surface's if None.
    near
        Coordinates that choose the period, and start the search if no inverse is known.

    Returns
    -------
    Array
        Shape (2,).

    Raises
    ------
    SurfaceError
        The point is not on the surface.

    """
    point, uv = np.asarray(point, dtype=float), None
    values = surface.parameter_values if parameters is None else np.asarray(parameters, float)
    if surface.charts[chart].inverse is None and near is not None:
        with suppress(SurfaceError):  # too far away
            uv = _polished(surface, point, chart, values, np.array(near, dtype=float))
    if uv is None or not surface.is_inside(uv, chart):
        uv = surface.locate(point, chart, near, values)
    return _polished(surface, point, chart, values, uv)


def _polished(surface: Surface, point: Array, chart: int, values: Array, uv: Array) -> Array:
    """Return uv after Gauss-Newton steps, as long as they reduce the distance to the point."""
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


def regularities(surface: Surface, point: ArrayLike, parameters: ArrayLike | None = None) -> Array:
    """
    Return the regularity of each chart at a point [m], shape (charts,).

    1 where it is best, 0 at a pole or a fold and where it does not contain the point.
    """
    values = surface.parameter_values if parameters is None else np.asarray(parameters, float)
    out = np.zeros(len(surface.charts))
    for k in range(out.size):
        try:
            uv = locate_on_chart(surface, point, k, values)
        except SurfaceError:
            continue
        out[k] = surface.regularity(uv, k, values)
    return out


def best_chart(surface: Surface, point: ArrayLike, parameters: ArrayLike | None = None) -> int:
    """Return the index of the most regular chart at a point, 3 components [m]."""
    return int(np.argmax(regularities(surface, point, parameters)))


def contact_frame(surface: Surface, uv: ArrayLike, parameters: ArrayLike | None = None) -> Array:
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
    if len(surface.charts) == 1 or surface.regularity(uv, 0, values) > POLE:
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
    Return the expression of the regularity of a chart.

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
