"""A path on the plane and coordinates along and beside it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.expressions import parse_expression


class PlanePath:
    """
    A regular curve c(s) = (x(s), y(s)) with coordinates (s, d): the point is c(s) + d n(s).

    n is the unit normal to the left of the tangent; d is the distance from the path [m]. A
    bound on d is a tube around the path, which is how a plan is made to follow it.
    """

    def __init__(self, formulas: Sequence[str | float]) -> None:
        """Read two formulas of ``s`` [m]."""
        if isinstance(formulas, str) or len(formulas) != 2:
            raise ParameterError('path: two formulas x, y of s are needed')
        self.formulas = tuple(formulas)
        self.curve(ca.SX.sym('s'))

    def curve(self, s: ca.SX) -> ca.SX:
        """Return c(s)."""
        return ca.vertcat(*(parse_expression(f, {'s': s}) for f in self.formulas))

    def frame(self, s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
        """Return the unit tangent, the unit normal, |c'| and the curvature."""
        first = ca.jacobian(self.curve(s), s)
        second = ca.jacobian(first, s)
        speed = ca.norm_2(first)
        tangent = first / speed
        normal = ca.vertcat(-tangent[1], tangent[0])
        return tangent, normal, speed, ca.dot(second, normal) / speed**2

    def point(self, s: ca.SX, d: ca.SX) -> ca.SX:
        """Return c(s) + d n(s)."""
        return self.curve(s) + d * self.frame(s)[1]

    def rates(self, s: ca.SX, d: ca.SX, velocity: ca.SX) -> ca.SX:
        """Return s' and d' of a point with a velocity; singular at d = 1 / curvature."""
        tangent, normal, speed, curvature = self.frame(s)
        along = ca.dot(velocity, tangent) / (speed * (1 - curvature * d))
        return ca.vertcat(along, ca.dot(velocity, normal))

    @cached_property
    def _sampled(self) -> ca.Function:
        s = ca.SX.sym('s')
        tangent, _, speed, _ = self.frame(s)
        return ca.Function('path', [s], [self.curve(s), tangent * speed])

    def samples(self, s: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return c(s) [m] and c'(s) [m], shapes (N, 2)."""
        place, slope = self._sampled(np.atleast_1d(np.asarray(s, dtype=float))[None, :])
        return np.array(place).T, np.array(slope).T
