"""What a camera tells, as poses of the object in the world with their covariance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import matrix_to_wxyz
from rolling_hw_interface.markers import MarkerFit, MarkerPattern
from transforms3d.quaternions import mat2quat, qmult, quat2mat

REPEATS = 3  # exactly equal images in a row: none of a real object are


class PoseMeasurement(NamedTuple):
    """Place [m], attitude (w, x, y, z) and covariance (6, 6) of the object in the world."""

    p: NDArray[np.float64]
    q: NDArray[np.float64]
    covariance: NDArray[np.float64]


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
        Know the camera.

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
            if not value > 0:
                raise ParameterError(f'{name} must be positive, got {value!r}')
        self._marker_variance = marker_noise**2
        self._usual = np.diag(np.repeat(np.square((position_noise, angle_noise)), 3))
        self._last: bytes = b''
        self._repeated = 0
        self.refused = ''
        self.counts = {'used': 0, 'refused': 0, 'relabelled': 0}

    def from_markers(self, markers_C: ArrayLike) -> PoseMeasurement | None:
        """Return the pose that fits the markers [m], shape (k, 3) in the camera, or None."""
        seen = np.asarray(markers_C, dtype=float)
        if self._pattern is None:
            return self._refuse('no pattern of markers is known')
        if self._frozen(seen):
            return self._refuse('the image is frozen')
        fit = self._pattern.fit(seen)
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
        Return a pose given in the camera's frame, or None where it is no measurement.

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

    def _in_world(
        self, p: NDArray[np.float64], q: NDArray[np.float64], C: NDArray[np.float64]
    ) -> PoseMeasurement:
        R = self._X[:3, :3]
        self.counts['used'] += 1
        self.refused = ''
        return PoseMeasurement(
            R @ p + self._X[:3, 3], qmult(self._q, q), self._turn @ C @ self._turn.T
        )

    def _frozen(self, numbers: NDArray[np.float64]) -> bool:
        content = numbers.tobytes()
        finite = bool(np.any(np.isfinite(numbers)))
        self._repeated = self._repeated + 1 if finite and content == self._last else 0
        self._last = content
        return self._repeated >= REPEATS

    def _refuse(self, reason: str) -> PoseMeasurement | None:
        self.counts['refused'] += 1
        self.refused = reason
        return None


def camera_pose(position: ArrayLike, quaternion: ArrayLike) -> NDArray[np.float64]:
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
