"""Checks of masses and inertias of bodies."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError


def checked_inertia(inertia: ArrayLike) -> Array:
    """
    Return a physically possible inertia matrix.

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
    symmetric: Array = (matrix + matrix.T) / 2
    return symmetric


def inertia_moments(inertia: ArrayLike) -> list[float]:
    """Return xx, yy, zz, xy, xz, yz [kg m^2] of an inertia matrix, checked."""
    J = checked_inertia(inertia)
    return [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def inertia_of(moments: Array) -> Array:
    """Return the matrix [kg m^2] of xx, yy, zz, xy, xz, yz, shape (3, 3)."""
    xx, yy, zz, xy, xz, yz = moments
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def inertia_matrix(j: ca.SX) -> ca.SX:
    """Return that matrix for expressions."""
    return ca.vertcat(
        ca.horzcat(j[0], j[3], j[4]), ca.horzcat(j[3], j[1], j[5]), ca.horzcat(j[4], j[5], j[2])
    )


def solid_ellipsoid_inertia(mass: float, a: float, b: float, c: float) -> Array:
    """Return the inertia matrix of a solid ellipsoid of semi-axes a, b, c [m] in kg m^2."""
    return mass / 5 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
