"""
The offset of an uneven plate over the place: slope of a polynomial height.

The height is a Gaussian field; its covariance gives that of the coefficients. Both axes see slopes
of one height, so a measurement along one informs the other.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array

STEEP, LENGTH = 8.0, 0.05  # counts (standard deviation of a slope), m: of the field expected
REACH = 0.06  # m: beyond, the map goes on as at this distance along each axis
SCALE = 0.05  # m, that counts as one in the polynomials
DEGREE = 4
POWERS = tuple((i, n - i) for n in range(1, DEGREE + 1) for i in range(n, -1, -1))
SIZE = len(POWERS)
ACROSS = 9  # places along each side at which field and polynomials are compared


def rows(place: ca.SX) -> ca.SX:
    """Return offsets that coefficients [counts] give at a place (2) [m], shape (2, SIZE)."""
    u = ca.fmax(ca.fmin(place, REACH), -REACH) / SCALE
    powers = [[ca.SX(1), u[k]] for k in range(2)]
    for k in range(2):
        for _ in range(DEGREE - 1):
            powers[k].append(powers[k][-1] * u[k])
    x, y = powers
    along_x = [i * x[i - 1] * y[j] if i else ca.SX(0) for i, j in POWERS]
    along_y = [j * x[i] * y[j - 1] if j else ca.SX(0) for i, j in POWERS]
    return ca.vertcat(ca.horzcat(*along_x), ca.horzcat(*along_y))


def prior() -> Array:
    """Return the covariance of the coefficients [counts^2], shape (SIZE, SIZE)."""
    along = np.linspace(-REACH, REACH, ACROSS)
    x, y = (axis.ravel() for axis in np.meshgrid(along, along))
    apart = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2
    heights = (STEEP * LENGTH / SCALE) ** 2 * np.exp(-apart / (2 * LENGTH**2))
    each = [(x / SCALE) ** i * (y / SCALE) ** j for i, j in ((0, 0), *POWERS)]
    fit = np.linalg.pinv(np.column_stack(each))[1:]
    return np.asarray(fit @ heights @ fit.T)
