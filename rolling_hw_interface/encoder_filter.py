"""
Joint angles, rates and accelerations from encoders.

For each joint a Kalman filter in its steady state: the commanded acceleration moves the angle, and
an unknown acceleration, which wanders, is estimated with it.
"""

from __future__ import annotations

from collections.abc import Iterable
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError

ITERATIONS = 20_000
CONVERGED = 1e-10


class JointEstimate(NamedTuple):
    """Angles [rad], rates [rad/s] and accelerations [rad/s^2]; shape (n,) each."""

    q: Array
    qd: Array
    qdd: Array


def steady_filter(dt: float, wander: float, noise: float) -> tuple[Array, Array]:
    """
    Return the Kalman gain of (angle, rate, unknown acceleration) for a measured angle.

    Parameters
    ----------
    dt
        Time between two measurements [s].
    wander
        Strength of the white jerk that drives the unknown acceleration [rad/s^2.5].
    noise
        Standard deviation of the measurement [rad].

    Returns
    -------
    gain, covariance
        The gain, shape (3,), and the covariance of the errors after a measurement, (3, 3).

    """
    F = np.array([[1.0, dt, dt * dt / 2], [0.0, 1.0, dt], [0.0, 0.0, 1.0]])
    powers = (dt**5 / 20, dt**4 / 8, dt**3 / 6), (dt**4 / 8, dt**3 / 3, dt**2 / 2), (
        dt**3 / 6, dt**2 / 2, dt,
    )  # fmt: skip
    Q = wander**2 * np.array(powers)
    C, gain = 1e3 * Q + np.diag((noise**2, 1.0, 1e4)), np.zeros(3)
    for _ in range(ITERATIONS):
        C = F @ C @ F.T + Q
        new = C[:, 0] / (C[0, 0] + noise**2)
        C = C - np.outer(new, C[0])
        if np.max(np.abs(new - gain) / (np.abs(new) + 1e-300)) < CONVERGED:
            return np.asarray(new, dtype=float), C
        gain = new
    raise ParameterError(
        f'encoders: no steady filter for a period of {dt:g} s, a wander of {wander:g} rad/s^2.5 '
        f'and a noise of {noise:g} rad'
    )


class EncoderFilter:
    """
    The filter of all joints.

    Attributes
    ----------
    missing
        Measurements in a row that a joint did not give, the worst joint.
    variances
        Of the errors of angle [rad^2] and rate [rad^2/s^2] of each joint, shape (2, n).

    """

    def __init__(self, resolution: ArrayLike, dt: float, *, wander: float = 150.0) -> None:
        """
        Compute the gains.

        Parameters
        ----------
        resolution
            Angle of one count of each joint [rad], shape (n,).
        dt
            Time between two measurements [s].
        wander
            See :func:`steady_filter`.

        """
        counts = np.asarray(resolution, dtype=float)
        self._half, self._dt = (counts / 2).tolist(), dt
        found = [steady_filter(dt, wander, c / math.sqrt(12)) for c in counts]
        self._gain = [gain.tolist() for gain, _ in found]
        self.variances = np.array([np.diag(C)[:2] for _, C in found]).T
        self._state: list[tuple[float, float, float]] | None = None
        self._missing = [0] * counts.size

    @property
    def missing(self) -> int:
        """Measurements in a row that the worst joint did not give."""
        return max(self._missing)

    def forget(self) -> None:
        """Start again at the next measurement."""
        self._state = None
        self._missing = [0] * len(self._missing)

    def step(self, measured: Iterable[float], commanded: Iterable[float]) -> JointEstimate | None:
        """
        Take one measurement of all joints.

        Parameters
        ----------
        measured
            Encoder angles, rounded down to whole counts [rad]; not a number where a joint gave
            none.
        commanded
            Accelerations commanded since the last one [rad/s^2].

        Returns
        -------
        JointEstimate or None
            At the time of the measurement; None before the first complete one.

        """
        seen = [float(m) + h for m, h in zip(measured, self._half, strict=True)]
        there = [math.isfinite(m) for m in seen]
        self._missing = [0 if t else n + 1 for t, n in zip(there, self._missing, strict=True)]
        if self._state is None:
            if not all(there):
                return None
            self._state = [(m, 0.0, 0.0) for m in seen]
        dt, known = self._dt, [float(k) for k in commanded]
        new = []  # joint by joint: so few numbers are faster without arrays
        for (q, qd, rest), k, m, on, gain in zip(
            self._state, known, seen, there, self._gain, strict=True
        ):
            ahead, rate = q + dt * qd + dt * dt / 2 * (k + rest), qd + dt * (k + rest)
            off = m - ahead if on else 0.0
            new.append((ahead + gain[0] * off, rate + gain[1] * off, rest + gain[2] * off))
        self._state = new
        q_, qd_, rest_ = (np.array(row) for row in zip(*new, strict=True))
        return JointEstimate(q_, qd_, known + rest_)
