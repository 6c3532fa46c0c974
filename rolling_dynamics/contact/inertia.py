"""Mass and inertia that a body can have."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError


def checked_mass(mass: float) -> float:
    """Return the mass [kg]; raise ParameterError unless it is positive and finite."""
    if not (math.isfinite(mass) and mass > 0):
        raise ParameterError(f'mass must be positive and finite [kg], got {mass!r}')
    return float(mass)


def checked_inertia(inertia: ArrayLike) -> NDArray[np.float64]:
    """
    Return the inertia matrix that a body can have.

    Parameters
    ----------
    inertia
        A number (the same about every axis), 3 principal moments, or a symmetric 3x3 matrix
        [kg m^2].

    Returns
    -------
    NDArray
        Shape (3, 3).

    Raises
    ------
    ParameterError
        It is not symmetric and positive definite, or its principal moments break the triangle
        inequality.

    """
    given = np.asarray(inertia, dtype=float)
    if given.shape == ():
        matrix = np.eye(3) * given
    elif given.shape == (3,):
        matrix = np.diag(given)
    elif given.shape == (3, 3):
        matrix = given
    else:
        raise ParameterError(f'inertia takes 1, 3 or 3x3 numbers, got shape {given.shape}')
    if not np.all(np.isfinite(matrix)):
        raise ParameterError(f'inertia must be finite, got {given.tolist()}')
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > 1e-9 * scale:
        raise ParameterError(f'inertia must be symmetric, got {given.tolist()}')
    moments = np.linalg.eigvalsh(matrix)
    if not moments[0] > 0:
        raise ParameterError(
            f'inertia must be positive definite, got principal moments {moments.tolist()}'
        )
    if moments[2] > (moments[0] + moments[1]) * (1 + 1e-9):
        raise ParameterError(
            f'no body has the principal moments {moments.tolist()}: the largest exceeds the '
            'sum of the other two'
        )
    symmetric: NDArray[np.float64] = (matrix + matrix.T) / 2
    return symmetric


def solid_ellipsoid_inertia(mass: float, a: float, b: float, c: float) -> NDArray[np.float64]:
    """Return the inertia of a homogeneous ellipsoid of semi-axes a, b, c about its centre."""
    return mass / 5 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
