"""Poses from images: cameras, and the markers that they see."""

from __future__ import annotations

from collections import deque
from itertools import combinations, permutations
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import check_positive, ParameterError
from rolling_dynamics.quaternions import matrix_to_wxyz
from transforms3d.quaternions import mat2quat, qmult, quat2mat

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
        Root mean square distance between measured and fitted markers [m].
    used
        Indices of the markers of the pattern that were used.
    relabelled
        Whether labels had to be exchanged.
    covariance
        Covariance of position [m^2] and of rotation about the camera's axes [rad^2], shape (6, 6),
        for a unit variance of each coordinate of each marker.

    """

    R: Array
    p: Array
    rms: float
    used: tuple[int, ...]
    relabelled: bool
    covariance: Array


def rigid_fit(model: Array, measured: Array) -> tuple[Array, Array, float]:
    """
    Return the rotation and shift that bring points onto others best.

    Parameters
    ----------
    model, measured
        Corresponding points [m], shape (k, 3), k at least 3, not on a line.

    Returns
    -------
    R, p, rms
        ``measured = R model + p`` in the least-squares sense, and what remains [m].

    """
    count = len(model)
    a, b = model.sum(axis=0) / count, measured.sum(axis=0) / count
    arms, measured_arms = model - a, measured - b
    U, _, Vt = np.linalg.svd(measured_arms.T @ arms)
    if _determinant(U @ Vt) < 0.0:
        U[:, 2] *= -1.0
    R = U @ Vt
    rest = measured_arms - arms @ R.T
    return R, b - R @ a, math.sqrt(float(np.vdot(rest, rest)) / count)


def _determinant(A: Array) -> float:
    (a, b, c), (d, e, f), (g, h, i) = A.tolist()
    return float(a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g))


class MarkerPattern:
    """Known positions of markers on a body, to which measured ones are fitted."""

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
        self._unit: dict[tuple[int, ...], tuple[Array, Array]] = {}  # by the markers used
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

    def fit(self, measured: ArrayLike) -> MarkerFit | str:
        """
        Return the fitted pose, or the reason why there is none.

        Parameters
        ----------
        measured
            Positions in the camera, in the order of the pattern [m], shape (k, 3); a row that is
            not finite is a hidden marker.

        """
        S = np.asarray(measured, dtype=float)
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

    def _attempt(self, places: NDArray[np.intp], measured: Array) -> MarkerFit | float:
        """Return the fit of a labelling, or its rms [m] where that is too large."""
        model = self.positions[places]
        R, p, rms = rigid_fit(model, measured)
        if not rms <= self.tolerance:
            return rms
        used = tuple(places.tolist())
        if used not in self._unit:
            self._unit[used] = _centre_and_turn(model)
        covariance = unit_covariance(R, len(used), *self._unit[used])
        return MarkerFit(R, p, rms, used, False, covariance)

    def _relabel(self, measured: Array) -> NDArray[np.intp]:
        """Return the labels whose distances are nearest to the measured ones."""
        choices = np.array(list(permutations(range(len(self.positions)), len(measured))))
        known = np.linalg.norm(self.positions[:, None] - self.positions[None], axis=2)
        apart = np.linalg.norm(measured[:, None] - measured[None], axis=2)
        misfit = known[choices[:, :, None], choices[:, None, :]] - apart
        return np.asarray(choices[np.argmin(np.sum(misfit**2, axis=(1, 2)))], dtype=np.intp)


def _centre_and_turn(model: Array) -> tuple[Array, Array]:
    """Return centroid and covariance of a turn, see :func:`unit_covariance`, of markers (k, 3)."""
    centre = model.mean(axis=0)
    arms = model - centre
    information = np.sum(arms * arms) * np.eye(3) - arms.T @ arms
    return centre, np.linalg.inv(information)


def unit_covariance(R: Array, markers: int, centre: Array, turn: Array) -> Array:
    """
    Return the covariance of a fitted pose for a unit variance of each coordinate.

    Parameters
    ----------
    R
        Attitude of the body, shape (3, 3).
    markers, centre
        Number of the markers, and their centroid in the frame of the body [m].
    turn
        Covariance of a turn of the body about it, for a unit variance of each coordinate of each
        marker, along the axes of the body, shape (3, 3).

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


def cross_matrix(v: ArrayLike) -> Array:
    """Return the matrix [v] with [v] a = v x a."""
    x, y, z = np.asarray(v, dtype=float).tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


REPEATS = 3  # exactly equal images in a row: none of a real object are


class PoseMeasurement(NamedTuple):
    """Place [m], attitude (w, x, y, z) and covariance (6, 6) of the object in the world."""

    p: Array
    q: Array
    covariance: Array


class Vision:
    """
    Turns markers or poses in the camera's frame into poses in the world.

    Attributes
    ----------
    refused
        Why the last image gave no pose; empty if it did.
    counts
        Numbers of images ``used``, ``refused`` and ``relabelled``.

    """

    def __init__(
        self,
        X_WC: ArrayLike,
        *,
        pattern: MarkerPattern | None = None,
        marker_noise: float = 2e-4,
        position_noise: float = 2e-4,
        angle_noise: float = 4e-3,
    ) -> None:
        """
        Take the camera's pose and its noise.

        Parameters
        ----------
        X_WC
            Its pose in the world, shape (4, 4).
        pattern
            The markers on the object, where markers are what comes.
        marker_noise
            Standard deviation of each coordinate of a marker [m].
        position_noise, angle_noise
            Of a pose that comes without a covariance [m], [rad].

        """
        self._X = np.asarray(X_WC, dtype=float)
        self._q = mat2quat(self._X[:3, :3])
        self._turn = np.kron(np.eye(2), self._X[:3, :3])
        self._pattern = pattern
        for name, value in (
            ('marker_noise', marker_noise),
            ('position_noise', position_noise),
            ('angle_noise', angle_noise),
        ):
            check_positive(name, value)
        self._marker_variance = marker_noise**2
        self._usual = np.diag(np.repeat(np.square((position_noise, angle_noise)), 3))
        self._last: bytes = b''
        self._repeated = 0
        self.refused = ''
        self.counts = {'used': 0, 'refused': 0, 'relabelled': 0}

    def from_markers(self, markers_C: ArrayLike) -> PoseMeasurement | None:
        """Return the pose that fits the markers [m], shape (k, 3) in the camera, or None."""
        measured = np.asarray(markers_C, dtype=float)
        if self._pattern is None:
            return self._refuse('no pattern of markers is known')
        if self._frozen(measured):
            return self._refuse('the image is frozen')
        fit = self._pattern.fit(measured)
        if not isinstance(fit, MarkerFit):
            return self._refuse(fit)
        self.counts['relabelled'] += fit.relabelled
        return self._in_world(
            fit.p, np.array(matrix_to_wxyz(fit.R)), self._marker_variance * fit.covariance
        )

    def from_pose(
        self, p_C: ArrayLike, q_C: ArrayLike, covariance: ArrayLike | None = None
    ) -> PoseMeasurement | None:
        """
        Return a pose given in the camera's frame, or None where it is not a measurement.

        Parameters
        ----------
        p_C, q_C
            Place [m] and attitude (w, x, y, z).
        covariance
            Shape (6, 6); one that is zero or None is replaced by the usual one.

        """
        p, q = np.asarray(p_C, dtype=float), np.asarray(q_C, dtype=float)
        if self._frozen(np.concatenate([p, q])):
            return self._refuse('the image is frozen')
        C = self._usual if covariance is None else np.asarray(covariance, dtype=float)
        if not np.any(C):
            C = self._usual
        if not np.all(np.isfinite(C)) or np.linalg.eigvalsh((C + C.T) / 2)[0] <= 0:
            return self._refuse('its covariance is not positive definite')
        return self._in_world(p, q, (C + C.T) / 2)

    def _in_world(self, p: Array, q: Array, C: Array) -> PoseMeasurement:
        R = self._X[:3, :3]
        self.counts['used'] += 1
        self.refused = ''
        return PoseMeasurement(
            R @ p + self._X[:3, 3], qmult(self._q, q), self._turn @ C @ self._turn.T
        )

    def _frozen(self, numbers: Array) -> bool:
        content = numbers.tobytes()
        finite = bool(np.any(np.isfinite(numbers)))
        self._repeated = self._repeated + 1 if finite and content == self._last else 0
        self._last = content
        return self._repeated >= REPEATS

    def _refuse(self, reason: str) -> PoseMeasurement | None:
        self.counts['refused'] += 1
        self.refused = reason
        return None


def camera_pose(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """
    Return the homogeneous matrix of a camera's pose.

    Parameters
    ----------
    position
        In the world [m].
    quaternion
        Attitude, (x, y, z, w) as in messages; need not be of norm 1.

    Raises
    ------
    ParameterError
        The quaternion is zero.

    """
    x, y, z, w = np.asarray(quaternion, dtype=float)
    if not w * w + x * x + y * y + z * z > 1e-12:
        raise ParameterError('the quaternion of the camera must not be zero')
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = quat2mat((w, x, y, z)), np.asarray(position, dtype=float)
    return X


SETTLED = 20  # images after which the largest difference is near the limit
JUMP = 0.05  # data that come so much earlier than all others have another clock [s]
LATE = 0.25  # so much later as well; less is a busy machine [s]
JUMPS = 5  # such images in a row
GREATEST = 0.02  # correction that a clock can need in addition to the minimum latency [s]


CAMERA = {
    'camera_position': [0.0, -1.0, 0.1],
    'camera_quaternion': [-(0.5**0.5), 0.0, 0.0, 0.5**0.5],
}  # where none is given: it looks along +y


def camera_from(given: Any) -> Array:  # noqa: ANN401  parameters of a node, or a mapping
    """Return the pose of the camera by parameters, shape (4, 4), with places [m]."""
    position, quaternion = (given.get(name, usual) for name, usual in CAMERA.items())
    return camera_pose(position, quaternion)


class ClockOffset:
    """
    The offset of a clock.

    Attributes
    ----------
    correction
        Correction by the filter [s], at most ``GREATEST``.
    restarts
        Number of detected restarts of the clock.

    """

    def __init__(self, least_latency: float, *, window: float = 5.0) -> None:
        """
        Start without images.

        Parameters
        ----------
        least_latency
            Shortest time from the middle of the exposure to the arrival [s]; from a calibration.
        window
            Time over which the largest difference is kept [s].

        """
        if not (least_latency >= 0 and window > 0):
            raise ParameterError(
                'clock: least_latency must be zero or positive and window positive, got '
                f'{least_latency:g} s and {window:g} s'
            )
        self._least, self._window = least_latency, window
        self._kept: deque[tuple[float, float]] = deque()  # falling differences, rising arrivals
        self._count = 0
        self._strange: list[float] = []
        self.correction = 0.0
        self.restarts = 0

    @property
    def settled(self) -> bool:
        """True once enough images came."""
        return self._count >= SETTLED

    @property
    def offset(self) -> float:
        """Offset of the camera's clock from the host's [s]; 0 before the first image."""
        if not self._kept:
            return 0.0
        return self._kept[0][1] + self._least + self.correction

    def take(self, stamp: float, arrival: float) -> bool:
        """
        Take the times of an image.

        Parameters
        ----------
        stamp, arrival
            By the camera's clock and by the host's [s].

        Returns
        -------
        bool
            Whether they belong to the clock that is known.

        """
        apart = stamp - arrival
        if self._kept and not -LATE < apart - self._kept[0][1] < JUMP:
            self._strange.append(apart)
            if len(self._strange) < JUMPS or max(self._strange) - min(self._strange) > JUMP:
                del self._strange[: -JUMPS + 1]
                return False
            self._kept.clear()
            self._count, self.correction = 0, 0.0
            self.restarts += 1
        self._strange.clear()
        self._count += 1
        while self._kept and self._kept[-1][1] <= apart:
            self._kept.pop()
        self._kept.append((arrival, apart))
        while self._kept[0][0] < arrival - self._window:
            self._kept.popleft()
        return True

    def correct(self, error: float) -> None:
        """Add the correction of a filter [s]; a diverged one cannot take the clock along."""
        if math.isfinite(error):
            self.correction = min(max(self.correction + error, -GREATEST), GREATEST)
