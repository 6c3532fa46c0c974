"""A straight tube: zeta = centre + theta direction, theta in metres."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.rails.rail import Rail, vector_of, vector_values


class Straight(Rail):
    """Straight tube between two stops."""

    kind = 'straight'
    unit = 'm'

    def __init__(
        self,
        direction: ArrayLike,
        stops: tuple[float, float],
        centre: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        """
        Place the tube.

        Parameters
        ----------
        direction
            Direction in the body; need not have norm 1.
        stops
            Least and greatest theta [m], from the centre along the direction.
        centre
            Where theta is zero [m].

        """
        d = np.asarray(direction, dtype=float).reshape(3)
        norm = float(np.linalg.norm(d))
        if not (np.isfinite(norm) and norm > 0):
            raise ParameterError(f'straight rail: direction must not vanish, got {d.tolist()}')
        self.direction = d / norm
        super().__init__(vector_values('centre', centre), stops, None)
        self.span()

    def position(self, theta: ca.SX, values: Mapping[str, ca.SX | float]) -> ca.SX:
        """Return centre + theta direction."""
        d = ca.sparsify(ca.SX(ca.DM(self.direction)))
        return vector_of('centre', values) + theta * d
