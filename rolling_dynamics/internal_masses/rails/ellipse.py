"""Circles and ellipses: zeta = centre + a X cos theta + b Z sin theta."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.rails.rail import (
    checked_frame,
    IDENTITY,
    Rail,
    vector_of,
    vector_values,
)

Values = Mapping[str, ca.SX | float]


class Ellipse(Rail):
    """Ellipse in the X-Z plane of a frame of its own; closed, or an arc between stops."""

    kind = 'ellipse'

    def __init__(
        self,
        semi_axes: ArrayLike,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        frame: ArrayLike = IDENTITY,
        stops: tuple[float, float] | None = None,
    ) -> None:
        """
        Place the ellipse.

        Parameters
        ----------
        semi_axes
            Semi-axes a along X and b along Z of the frame [m], not zero.
        centre
            Centre in the body, from the geometric centre [m].
        frame
            Rotation whose columns X, Y, Z are expressed in the body; Y is the normal.
        stops
            Least and greatest theta [rad]; none if None.

        """
        a, b = (float(v) for v in np.asarray(semi_axes, dtype=float).reshape(2))
        if a == 0 or b == 0:
            raise ParameterError(f'{self.kind} rail: semi-axes must not be zero, got {a}, {b}')
        self.frame = checked_frame(self.kind, frame)
        super().__init__(self._lengths(a, b) | vector_values('centre', centre), stops, 2 * math.pi)

    def _lengths(self, a: float, b: float) -> dict[str, float]:
        return {'a': a, 'b': b}

    def position(self, theta: ca.SX, values: Values) -> ca.SX:
        """Return centre + a X cos theta + b Z sin theta."""
        X, Z = (ca.sparsify(ca.SX(ca.DM(self.frame[:, k]))) for k in (0, 2))
        a, b = self._semi_axes(values)
        out: ca.SX = vector_of('centre', values) + a * X * ca.cos(theta) + b * Z * ca.sin(theta)
        return out

    def _semi_axes(self, values: Values) -> tuple[ca.SX | float, ca.SX | float]:
        return values['a'], values['b']


class Circle(Ellipse):
    """Circle of one radius; Putkaradze & Rogers, Eqs. (5.4), (6.8)."""

    kind = 'circle'

    def __init__(
        self,
        radius: float,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        frame: ArrayLike = IDENTITY,
        stops: tuple[float, float] | None = None,
    ) -> None:
        """Place the circle; centre [m] and frame, shape (3, 3), are as of :class:`Ellipse`."""
        super().__init__((radius, radius), centre, frame, stops)

    def _lengths(self, a: float, b: float) -> dict[str, float]:
        if not a == b > 0:
            raise ParameterError(f'circle rail: radius must be positive [m], got {a!r}')
        return {'radius': a}

    def _semi_axes(self, values: Values) -> tuple[ca.SX | float, ca.SX | float]:
        return values['radius'], values['radius']
