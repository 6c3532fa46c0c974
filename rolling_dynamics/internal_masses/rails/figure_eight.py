"""A figure eight: the lemniscate of Gerono, zeta = centre + a X sin theta + b Z sin 2 theta."""

from __future__ import annotations

from collections.abc import Mapping
import math

import casadi as ca
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.rails.rail import (
    checked_frame,
    IDENTITY,
    Rail,
    vector_of,
    vector_values,
)


class FigureEight(Rail):
    """Closed figure eight in the X-Z plane of a frame; it crosses itself in its centre."""

    kind = 'figure_eight'

    def __init__(
        self,
        length: float,
        width: float,
        centre: ArrayLike = (0.0, 0.0, 0.0),
        frame: ArrayLike = IDENTITY,
        stops: tuple[float, float] | None = None,
    ) -> None:
        """
        Place the figure.

        Parameters
        ----------
        length, width
            Half of its length along X, half of its width along Z [m], positive.
        centre
            Crossing, from the geometric centre [m].
        frame
            Rotation with columns X, Y, Z in the body.
        stops
            Least and greatest theta [rad]; none if None.

        """
        if not (length > 0 and width > 0):
            raise ParameterError(
                f'figure_eight rail: length and width must be positive, got {length}, {width}'
            )
        self.frame = checked_frame(self.kind, frame)
        values = {'length': length, 'width': width} | vector_values('centre', centre)
        super().__init__(values, stops, 2 * math.pi)

    def position(self, theta: ca.SX, values: Mapping[str, ca.SX | float]) -> ca.SX:
        """Return the point at theta."""
        X, Z = (ca.sparsify(ca.SX(ca.DM(self.frame[:, k]))) for k in (0, 2))
        out = vector_of('centre', values) + values['length'] * X * ca.sin(theta)
        return out + values['width'] * Z * ca.sin(2 * theta)
