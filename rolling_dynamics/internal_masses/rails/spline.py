"""A spline through points, of degree 5, so that zeta'' has a continuous second derivative."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.rails.rail import Rail

DEGREE = 5


class Spline(Rail):
    """Curve through points of the body, closed or open; its points are no parameters."""

    kind = 'spline'

    def __init__(
        self,
        points: ArrayLike,
        *,
        closed: bool = False,
        theta: ArrayLike | None = None,
        unit: str = 'rad',
    ) -> None:
        """
        Lay the curve through points.

        Parameters
        ----------
        points
            Points in the body, from the geometric centre [m], shape (N, 3), N >= 6. A closed
            curve returns from the last to the first, which is not repeated.
        closed
            Whether the rail is closed; an open one has its stops at the first and the last point.
        theta
            Values of theta at the points, increasing, N of them (N + 1 for a closed curve: the
            last is where it comes back); 0, 1, 2, ... if None.
        unit
            Unit of theta.

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
        kind = 'periodic' if closed else None
        from scipy.interpolate import make_interp_spline  # noqa: PLC0415  (large)

        spline = make_interp_spline(knots, P, k=DEGREE, bc_type=kind)
        self._breaks = np.unique(spline.t[DEGREE:-DEGREE])[:-1]
        # highest power first, shape (6, pieces, 3)
        self._c = np.array(
            [spline(self._breaks, nu=k) / math.factorial(k) for k in range(DEGREE, -1, -1)]
        )
        self.unit = unit
        self._start, self._length = float(knots[0]), float(knots[-1] - knots[0])
        ends = (float(knots[0]), float(knots[-1]))
        super().__init__({}, None if closed else ends, self._length if closed else None)

    def span(self) -> tuple[float, float]:
        """Return the range of theta; one turn of a closed curve."""
        return self._start, self._start + self._length

    def position(self, theta: ca.SX, values: Mapping[str, ca.SX | float]) -> ca.SX:  # noqa: ARG002
        """Return the point at theta; beyond its ends an open curve goes on as it was."""
        if self.period is not None:
            turns = ca.floor((theta - self._start) / self._length)
            theta = theta - turns * self._length
        inner = self._breaks[1:]
        s = theta - _choose(theta, inner, self._breaks)
        out = []
        for axis in range(3):
            value = ca.SX(0)
            for power in range(DEGREE + 1):
                value = value * s + _choose(theta, inner, self._c[power, :, axis])
            out.append(value)
        return ca.vertcat(*out)


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
