"""
Rigid body of reflective markers: the pose that fits seen positions to the known pattern.

The least-squares pose is that of Arun, Huang & Blostein (1987), by a singular value decomposition.
Labels that a tracker swapped are found by the distances between markers, which therefore have to
differ; a marker that fits nowhere is left out where enough remain.
"""

from __future__ import annotations

from itertools import combinations, permutations
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError

FEWEST = 3
MOST = 7  # more make the search for swapped labels slow
DIAGONAL = np.arange(3)
APART = 1.5e-3  # least difference between distances of the pattern [m]


class MarkerFit(NamedTuple):
    """
    The pose of a pattern of markers.

    Attributes
    ----------
    R, p
        Attitude, shape (3, 3), and origin [m], shape (3,), of the body in the camera.
    rms
        Root mean square distance between seen and fitted markers [m].
    used
        Indices of the markers of the pattern that were used.
    relabelled
        Whether labels had to be exchanged.
    covariance
        Of position [m^2] and of a turn about the camera's axes [rad^2], shape (6, 6), for a unit
        variance of each coordinate of each marker.

    """

    R: NDArray[np.float64]
    p: NDArray[np.float64]
    rms: float
    used: tuple[int, ...]
    relabelled: bool
    covariance: NDArray[np.float64]


def rigid_fit(
    model: NDArray[np.float64], seen: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """
    Return the rotation and shift that bring points onto others best.

    Parameters
    ----------
    model, seen
        Corresponding points [m], shape (k, 3), k at least 3, not on a line.

    Returns
    -------
    R, p, rms
        ``seen = R model + p`` in the least-squares sense, and what remains [m].

    """
    count = len(model)
    a, b = model.sum(axis=0) / count, seen.sum(axis=0) / count
    arms, seen_arms = model - a, seen - b
    U, _, Vt = np.linalg.svd(seen_arms.T @ arms)
    if _determinant(U @ Vt) < 0.0:
        U[:, 2] *= -1.0
    R = U @ Vt
    rest = seen_arms - arms @ R.T
    return R, b - R @ a, math.sqrt(float(np.vdot(rest, rest)) / count)


def _determinant(A: NDArray[np.float64]) -> float:
    (a, b, c), (d, e, f), (g, h, i) = A.tolist()
    return float(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


class MarkerPattern:
    """Known places of markers on a body, to which seen places are fitted."""

    def __init__(self, positions: ArrayLike, *, tolerance: float = 1e-3) -> None:
        """
        Check the pattern.

        Parameters
        ----------
        positions
            Of the markers in the frame of the body [m], shape (k, 3).
        tolerance
            Largest rms of a fit that is believed [m].

        Raises
        ------
        ParameterError
            Too few or too many markers, on a line, or at equal distances.

        """
        P = np.array(positions, dtype=float)
        if P.ndim != 2 or P.shape[1:] != (3,) or not FEWEST <= len(P) <= MOST:
            raise ParameterError(
                f'markers: {FEWEST} to {MOST} points of 3 numbers are needed, got shape {P.shape}'
            )
        if not np.all(np.isfinite(P)):
            raise ParameterError('markers: positions must be finite')
        spread = np.linalg.svd(P - P.mean(axis=0), compute_uv=False)
        if spread[1] < 0.05 * spread[0]:
            raise ParameterError('markers: they lie on a line; move one aside')
        self.positions, self.tolerance = P, float(tolerance)
        self._stiffness: dict[tuple[int, ...], Stiffness] = {}  # by the markers that are used
        self._check_distances()

    def _check_distances(self) -> None:
        P = self.positions
        pairs = list(combinations(range(len(P)), 2))
        lengths = [float(np.linalg.norm(P[i] - P[j])) for i, j in pairs]
        for (one, a), (two, b) in combinations(zip(pairs, lengths, strict=True), 2):
            if abs(a - b) < APART:
                raise ParameterError(
                    f'markers: distances of {one} ({a:.4g} m) and {two} ({b:.4g} m) must differ '
                    f'by at least {APART:g} m, so that swapped labels are recognised'
                )

    def fit(self, seen: ArrayLike) -> MarkerFit | str:
        """
        Return the pose that fits, or why there is none.

        Parameters
        ----------
        seen
            Positions in the camera, in the order of the pattern [m], shape (k, 3); a row that is
            not finite is a marker that is not seen.

        """
        S = np.asarray(seen, dtype=float)
        if S.shape != self.positions.shape:
            return f'{self.positions.shape[0]} markers are known, {S.shape} came'
        there = np.flatnonzero(np.all(np.isfinite(S), axis=1))
        if len(there) < FEWEST:
            return f'{len(there)} markers are seen, {FEWEST} are needed'
        best = self._attempt(there, S[there])
        if isinstance(best, MarkerFit):
            return best
        found = best
        places = self._relabel(S[there])
        fit = self._attempt(places, S[there])
        if isinstance(fit, MarkerFit):
            return fit._replace(relabelled=True)
        if len(there) > FEWEST:
            for k in range(len(there)):
                kept = np.delete(there, k)
                fit = self._attempt(kept, S[kept])
                if isinstance(fit, MarkerFit):
                    return fit
        return f'no pose fits: {found * 1e3:.2g} mm rms, {self.tolerance * 1e3:g} mm are allowed'

    def _attempt(self, places: NDArray[np.intp], seen: NDArray[np.float64]) -> MarkerFit | float:
        """Return the fit of a labelling, or its rms [m] where that is too large."""
        model = self.positions[places]
        R, p, rms = rigid_fit(model, seen)
        if not rms <= self.tolerance:
            return rms
        used = tuple(places.tolist())
        if used not in self._stiffness:
            self._stiffness[used] = stiffness_of(model)
        return MarkerFit(R, p, rms, used, False, unit_covariance(R, *self._stiffness[used]))

    def _relabel(self, seen: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the labels whose distances are nearest to those seen."""
        choices = np.array(list(permutations(range(len(self.positions)), len(seen))))
        known = np.linalg.norm(self.positions[:, None] - self.positions[None], axis=2)
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        misfit = known[choices[:, :, None], choices[:, None, :]] - apart
        return np.asarray(choices[np.argmin(np.sum(misfit**2, axis=(1, 2)))], dtype=np.intp)


class Stiffness(NamedTuple):
    """
    How well a pattern fixes a pose, in the frame of the body.

    Attributes
    ----------
    markers, centre
        Number of the markers, and their centroid [m].
    turn
        Covariance of a turn about it for a unit variance of each coordinate, shape (3, 3).

    """

    markers: int
    centre: NDArray[np.float64]
    turn: NDArray[np.float64]


def stiffness_of(model: NDArray[np.float64]) -> Stiffness:
    """Return it for markers in the frame of the body [m], shape (k, 3)."""
    centre = model.mean(axis=0)
    arms = model - centre
    information = np.sum(arms * arms) * np.eye(3) - arms.T @ arms
    return Stiffness(len(model), centre, np.linalg.inv(information))


def unit_covariance(
    R: NDArray[np.float64], markers: int, centre: NDArray[np.float64], turn: NDArray[np.float64]
) -> NDArray[np.float64]:
    """
    Return the covariance of a fitted pose for a unit variance of each coordinate.

    Parameters
    ----------
    R
        Attitude of the body, shape (3, 3).
    markers, centre, turn
        See :class:`Stiffness`.

    Returns
    -------
    NDArray
        Of the origin and of a turn about the axes in which R is expressed; shape (6, 6).

    """
    turned = R @ turn @ R.T
    lever = cross_matrix(R @ centre)  # origin = centroid - Exp(d) R centre
    out = np.empty((6, 6))
    side = lever @ turned
    out[:3, :3] = side @ lever.T
    out[DIAGONAL, DIAGONAL] += 1.0 / markers
    out[:3, 3:] = side
    out[3:, :3] = side.T
    out[3:, 3:] = turned
    return out


def cross_matrix(v: ArrayLike) -> NDArray[np.float64]:
    """Return the matrix [v] with [v] a = v x a."""
    x, y, z = np.asarray(v, dtype=float).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
