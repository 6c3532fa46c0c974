"""A rail: a twice differentiable curve in the body, along which one mass moves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError

UNBOUNDED = (-math.inf, math.inf)
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Rail(ABC):
    """
    A curve zeta(theta) in the body frame, its origin in the geometric centre.

    Putkaradze & Rogers (normal force), Section 3.

    Attributes
    ----------
    kind
        Name of the kind of rail.
    values
        Lengths that are parameters of the system, name -> value [m]. A length that is zero is not
        among them: it is zero in the equations.
    stops
        Least and greatest theta; infinite where there is no stop.
    period
        Period of theta on a closed rail, None on an open one.
    unit
        Unit of theta: ``rad``, ``m``, or the empty string.

    """

    kind: str
    unit = 'rad'

    def __init__(
        self,
        values: Mapping[str, float],
        stops: tuple[float, float] | None,
        period: float | None,
    ) -> None:
        """Check what every rail has."""
        for name, value in values.items():
            if not math.isfinite(value):
                raise ParameterError(f'{self.kind} rail: {name} must be finite, got {value!r}')
        low, high = (float(s) for s in (UNBOUNDED if stops is None else stops))
        if not low < high:
            raise ParameterError(f'{self.kind} rail: stops must increase, got [{low:g}, {high:g}]')
        self.values = {name: float(v) for name, v in values.items() if v != 0}
        self.stops, self.period = (low, high), period

    @abstractmethod
    def position(self, theta: ca.SX, values: Mapping[str, ca.SX | float]) -> ca.SX:
        """Return zeta(theta) [m], body frame, shape (3,); every value of the rail is given."""

    def span(self) -> tuple[float, float]:
        """Return the range of theta that the mass can visit; one turn of a closed rail."""
        low, high = self.stops
        if math.isfinite(low) and math.isfinite(high):
            return low, high
        if self.period is not None:
            return 0.0, self.period
        raise ParameterError(f'{self.kind} rail: an open rail needs stops at both ends')

    def sample(self, count: int = 400) -> NDArray[np.float64]:
        """Return points of the rail at evenly spaced theta, shape (count, 3) [m]."""
        return self.points(np.linspace(*self.span(), count))

    def points(self, theta: ArrayLike) -> NDArray[np.float64]:
        """Return the points at values of theta, shape (N, 3) [m]."""
        thetas = np.atleast_1d(np.asarray(theta, dtype=float))
        return np.array(self._function(thetas[None, :])).T

    def derivatives(self, theta: float) -> NDArray[np.float64]:
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


def vector_values(name: str, vector: ArrayLike) -> dict[str, float]:
    """Return name_x, name_y, name_z of a vector of 3 numbers [m]."""
    array = np.asarray(vector, dtype=float).reshape(-1)
    if array.size != 3:
        raise ParameterError(f'{name} takes 3 numbers [m], got {array.size}')
    return {f'{name}_{s}': float(v) for s, v in zip('xyz', array, strict=True)}


def vector_of(name: str, values: Mapping[str, ca.SX | float]) -> ca.SX:
    """Return the vector of name_x, name_y, name_z; what is not there is zero."""
    return ca.vertcat(*(ca.SX(values.get(f'{name}_{s}', 0)) for s in 'xyz'))


def checked_frame(kind: str, frame: ArrayLike) -> NDArray[np.float64]:
    """Return a rotation matrix [1], checked; entries that are zero to rounding become zero."""
    R = np.array(frame, dtype=float)
    if R.shape != (3, 3) or not np.allclose(R.T @ R, np.eye(3), atol=1e-9):
        raise ParameterError(
            f'{kind} rail: frame must be a 3x3 matrix with orthonormal columns, got {R.tolist()}'
        )
    R[np.abs(R) < 1e-15] = 0.0
    return R


def published_frame(normal: ArrayLike) -> NDArray[np.float64]:
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
