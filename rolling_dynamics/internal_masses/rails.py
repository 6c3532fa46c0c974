"""Rails on which masses inside a rolling body move."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
import math
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.expressions import parse_expression

UNBOUNDED = (-math.inf, math.inf)
TURN = 2 * math.pi
Values = Mapping[str, ca.SX | float]
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Rail:
    """
    A curve zeta(theta) in the body frame, whose origin is the geometric centre.

    Putkaradze & Rogers (normal force), Section 3.

    Attributes
    ----------
    kind
        Name of the type of rail.
    position
        ``(theta, values) -> zeta(theta)`` [m], body frame, shape (3,).
    values
        Lengths that are parameters of the system, name -> value [m]. Lengths of zero are left out:
        they are zero in the equations.
    stops
        Minimum and maximum theta; infinite if there is no stop.
    period
        Period of theta on a closed rail, None on an open one.
    start
        Start of a turn of a closed rail.
    unit
        Unit of theta: ``rad``, ``m``, or the empty string.

    """

    def __init__(
        self,
        kind: str,
        position: Callable[[ca.SX, Values], ca.SX],
        values: Mapping[str, float] = MappingProxyType({}),
        stops: tuple[float, float] | None = None,
        period: float | None = None,
        *,
        start: float = 0.0,
        unit: str = 'rad',
    ) -> None:
        """Check what every rail has; see the attributes."""
        self.kind, self.position, self.unit = kind, position, unit
        for name, value in values.items():
            if not math.isfinite(value):
                raise ParameterError(f'{kind} rail: {name} must be finite, got {value!r}')
        low, high = (float(s) for s in (UNBOUNDED if stops is None else stops))
        if not low < high:
            raise ParameterError(f'{kind} rail: stops must increase, got [{low:g}, {high:g}]')
        self.values = {name: float(v) for name, v in values.items() if v != 0}
        self.stops, self.period, self.start = (low, high), period, start
        self.span()

    def span(self) -> tuple[float, float]:
        """Return the range of theta that the mass can visit; one turn of a closed rail."""
        low, high = self.stops
        if math.isfinite(low) and math.isfinite(high):
            return low, high
        if self.period is not None:
            return self.start, self.start + self.period
        raise ParameterError(f'{self.kind} rail: an open rail needs stops at both ends')

    def sample(self, count: int = 400) -> Array:
        """Return points of the rail at evenly spaced theta, shape (count, 3) [m]."""
        return self.points(np.linspace(*self.span(), count))

    def points(self, theta: ArrayLike) -> Array:
        """Return the points at values of theta, shape (N, 3) [m]."""
        thetas = np.atleast_1d(np.asarray(theta, dtype=float))
        return np.array(self._function(thetas[None, :])).T

    def derivatives(self, theta: float) -> Array:
        """Return zeta, zeta' and zeta'' at theta, shape (3, 3), one a row [m]."""
        return np.array(self._derivatives(theta)).T

    @cached_property
    def _function(self) -> ca.Function:
        theta = ca.SX.sym('theta')
        return ca.Function('rail', [theta], [ca.densify(self.position(theta, self.values))])

    @cached_property
    def _derivatives(self) -> ca.Function:
        theta = ca.SX.sym('theta')
        zeta = self.position(theta, self.values)
        first = ca.jacobian(zeta, theta)
        return ca.Function(
            'rail_derivatives',
            [theta],
            [ca.densify(ca.horzcat(zeta, first, ca.jacobian(first, theta)))],
        )


def centre_values(centre: ArrayLike) -> dict[str, float]:
    """Return centre_x, centre_y, centre_z of a vector of 3 components [m]."""
    array = np.asarray(centre, dtype=float).reshape(-1)
    if array.size != 3:
        raise ParameterError(f'centre takes 3 numbers [m], got {array.size}')
    return {f'centre_{s}': float(v) for s, v in zip('xyz', array, strict=True)}


def centre_of(values: Values) -> ca.SX:
    """Return the vector of centre_x, centre_y, centre_z; missing ones are zero."""
    return ca.vertcat(*(ca.SX(values.get(f'centre_{s}', 0)) for s in 'xyz'))


def checked_frame(kind: str, frame: ArrayLike) -> Array:
    """Return a rotation matrix [1], checked; entries that are zero to rounding become zero."""
    R = np.array(frame, dtype=float)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-9):
        raise ParameterError(
            f'{kind} rail: frame must be a 3x3 matrix with orthonormal columns, got {R.tolist()}'
        )
    R[np.abs(R) < 1e-15] = 0.0
    return R


def published_frame(normal: ArrayLike) -> Array:
    """
    Return the frame of a circle in the plane of n and b1, as the published angles imply.

    Parameters
    ----------
    normal
        Unit vector n.

    Returns
    -------
    NDArray
        Rotation with first column n and third column -b1, b1 as in Frisvad's construction
        (Putkaradze & Rogers, Eq. (6.8)): with it, the printed initial angles put the centre of
        mass on the vertical, and zeta = r (n cos theta - b1 sin theta).

    """
    n = np.asarray(normal, dtype=float)
    n = n / np.linalg.norm(n)
    if n[2] < -0.9999999:
        b1 = np.array([0.0, -1.0, 0.0])
    else:
        b1 = np.array([1 - n[0] ** 2 / (1 + n[2]), -n[0] * n[1] / (1 + n[2]), -n[0]])
    third = -b1
    return np.column_stack([n, np.cross(third, n), third])


def Straight(
    direction: ArrayLike, stops: tuple[float, float], centre: ArrayLike = (0.0, 0.0, 0.0)
) -> Rail:
    """
    Return a straight tube between two stops.

    Parameters
    ----------
    direction
        Direction in the body; need not have norm 1.
    stops
        Minimum and maximum theta [m], from the centre along the direction.
    centre
        Point at which theta is zero [m].

    """
    d = np.asarray(direction, dtype=float).reshape(3)
    norm = float(np.linalg.norm(d))
    if not (np.isfinite(norm) and norm > 0):
        raise ParameterError(f'straight rail: direction must not vanish, got {d.tolist()}')
    way = ca.sparsify(ca.SX(ca.DM(d / norm)))

    def position(theta: ca.SX, values: Values) -> ca.SX:
        return centre_of(values) + theta * way

    return Rail('straight', position, centre_values(centre), stops, unit='m')


def FigureEight(
    length: float,
    width: float,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    frame: ArrayLike = IDENTITY,
    stops: tuple[float, float] | None = None,
) -> Rail:
    """
    Return a closed figure eight in the X-Z plane of a frame; it crosses itself in its centre.

    Parameters
    ----------
    length, width
        Half of its length along X, half of its width along Z [m], positive.
    centre
        Crossing, from the geometric centre [m].
    frame
        Rotation with columns X, Y, Z in the body.
    stops
        Minimum and maximum theta [rad]; none if None.

    """
    check_positive('figure_eight rail: length and width', [length, width], 'm')
    X, Z = _plane('figure_eight', frame)

    def position(theta: ca.SX, values: Values) -> ca.SX:
        out = centre_of(values) + values['length'] * X * ca.sin(theta)
        return out + values['width'] * Z * ca.sin(2 * theta)

    lengths = {'length': length, 'width': width} | centre_values(centre)
    return Rail('figure_eight', position, lengths, stops, TURN)


def Ellipse(
    semi_axes: ArrayLike,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    frame: ArrayLike = IDENTITY,
    stops: tuple[float, float] | None = None,
) -> Rail:
    """
    Return an ellipse in the X-Z plane of its own frame; closed, or an arc between stops.

    Parameters
    ----------
    semi_axes
        Semi-axes a along X and b along Z of the frame [m], not zero.
    centre
        Centre in the body, from the geometric centre [m].
    frame
        Rotation whose columns X, Y, Z are expressed in the body; Y is the normal.
    stops
        Minimum and maximum theta [rad]; none if None.

    """
    a, b = (float(v) for v in np.asarray(semi_axes, dtype=float).reshape(2))
    if a == 0 or b == 0:
        raise ParameterError(f'ellipse rail: semi-axes must not be zero, got {a}, {b}')
    return _round('ellipse', {'a': a, 'b': b}, centre, frame, stops)


def Circle(
    radius: float,
    centre: ArrayLike = (0.0, 0.0, 0.0),
    frame: ArrayLike = IDENTITY,
    stops: tuple[float, float] | None = None,
) -> Rail:
    """
    Return a circle of one radius; Putkaradze & Rogers, Eqs. (5.4), (6.8).

    Centre [m] and frame, shape (3, 3), are as of :func:`Ellipse`.
    """
    check_positive('circle rail: radius', radius, 'm')
    return _round('circle', {'radius': radius}, centre, frame, stops)


def _plane(kind: str, frame: ArrayLike) -> list[ca.SX]:
    """Return the axes X and Z of a frame."""
    R = checked_frame(kind, frame)
    return [ca.sparsify(ca.SX(ca.DM(R[:, k]))) for k in (0, 2)]


def _round(
    kind: str,
    lengths: dict[str, float],
    centre: ArrayLike,
    frame: ArrayLike,
    stops: tuple[float, float] | None,
) -> Rail:
    """Return the rail centre + a X cos theta + b Z sin theta, of the first and last length."""
    X, Z = _plane(kind, frame)
    (first, *_), (*_, last) = lengths, lengths

    def position(theta: ca.SX, values: Values) -> ca.SX:
        out: ca.SX = centre_of(values) + values[first] * X * ca.cos(theta)
        return out + values[last] * Z * ca.sin(theta)

    return Rail(kind, position, lengths | centre_values(centre), stops, TURN)


def ExpressionRail(
    formulas: Sequence[str | float],
    values: Mapping[str, float] | None = None,
    *,
    stops: tuple[float, float] | None = None,
    period: float | None = None,
) -> Rail:
    """
    Return a curve (x(theta), y(theta), z(theta)); its lengths may be named parameters.

    Parameters
    ----------
    formulas
        Three formulas in ``theta`` and the names of ``values`` [m].
    values
        Parameters by name.
    stops
        Minimum and maximum theta; required if there is no period.
    period
        Period of theta on a closed rail.

    """
    if isinstance(formulas, str) or len(formulas) != 3:
        raise ParameterError('expression rail: three formulas x, y, z are needed')
    given = dict(values or {})

    def position(theta: ca.SX, values: Values) -> ca.SX:
        symbols = {name: ca.SX(values.get(name, 0)) for name in given} | {'theta': theta}
        return ca.vertcat(*(parse_expression(f, symbols) for f in formulas))

    rail = Rail('expression', position, given, stops, period)
    position(ca.SX.sym('theta'), rail.values)
    return rail


DEGREE = 5


def Spline(points: ArrayLike, *, closed: bool = False, theta: ArrayLike | None = None) -> Rail:
    """
    Return a curve through points of the body, closed or open; its points are not parameters.

    Beyond its ends an open curve continues with its last polynomials.

    Parameters
    ----------
    points
        Points in the body, from the geometric centre [m], shape (N, 3), N >= 6. A closed curve
        returns from the last to the first, which is not repeated.
    closed
        Whether the rail is closed; an open one has its stops at the first and the last point.
    theta
        Values of theta at the points, increasing, N of them (N + 1 for a closed curve: the last
        closes the curve); 0, 1, 2, ... if None.

    """
    P = np.asarray(points, dtype=float)
    if P.ndim != 2 or P.shape[1] != 3 or len(P) <= DEGREE or not np.all(np.isfinite(P)):
        raise ParameterError(
            f'spline rail: at least {DEGREE + 1} points of 3 finite numbers are needed, got '
            f'shape {P.shape}'
        )
    if closed:
        P = np.vstack([P, P[:1]])
    knots = np.arange(len(P), dtype=float) if theta is None else np.asarray(theta, float)
    if knots.shape != (len(P),) or np.any(np.diff(knots) <= 0):
        raise ParameterError(
            f'spline rail: theta takes {len(P)} increasing numbers, got {knots.tolist()}'
        )
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415  (large)

    spline = make_interp_spline(knots, P, k=DEGREE, bc_type='periodic' if closed else None)
    breaks = np.unique(spline.t[DEGREE:-DEGREE])[:-1]
    # highest power first, shape (6, pieces, 3)
    c = np.array([spline(breaks, nu=k) / math.factorial(k) for k in range(DEGREE, -1, -1)])
    start, end = float(knots[0]), float(knots[-1])

    def position(theta: ca.SX, values: Values) -> ca.SX:  # noqa: ARG001
        if closed:
            theta = theta - ca.floor((theta - start) / (end - start)) * (end - start)
        s, out = theta - _choose(theta, breaks[1:], breaks), []
        for axis in range(3):
            value = ca.SX(0)
            for power in range(DEGREE + 1):
                value = value * s + _choose(theta, breaks[1:], c[power, :, axis])
            out.append(value)
        return ca.vertcat(*out)

    if closed:
        return Rail('spline', position, period=end - start, start=start)
    return Rail('spline', position, stops=(start, end))


def _choose(theta: ca.SX, inner: np.ndarray, values: np.ndarray) -> ca.SX:
    """Return the value of the piece in which theta lies, by bisection."""
    if np.all(values == values[0]):
        return ca.SX(float(values[0]))
    middle = len(values) // 2
    return ca.if_else(
        theta < inner[middle - 1],
        _choose(theta, inner[: middle - 1], values[:middle]),
        _choose(theta, inner[middle:], values[middle:]),
    )
