"""
Friction and inertia of the drives, from recorded motion and torques.

With known links the torques are linear in what is sought: for each joint the inertia of rotor and
wave generator as the joint feels it, Coulomb and viscous friction, an offset, and the ripple of
the harmonic drive, a sine and a cosine of twice the motor's angle. Left out, the ripple would move
the joint without a torque of the motor and make the inertia look too small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.errors import ParameterError
from rolling_hw_interface.arm import Arm
from rolling_hw_interface.arm_model import JOINTS

FEWEST = 500  # samples
ORDER = 3  # of the polynomials that smooth the angles
SLOW = 0.03  # rate below which the sign of friction is not trusted [rad/s]
LEAST_RATE = 0.1  # that each joint has to reach [rad/s]


@dataclass(frozen=True, kw_only=True)
class JointCalibration:
    """
    What was found, for each joint; shape (3,) each.

    Attributes
    ----------
    reflected_inertia
        Of rotor and wave generator, on the side of the joint [kg m^2].
    coulomb, viscous
        Friction [N m], [N m s/rad].
    offset
        Constant torque [N m]; a sensor's error or an unknown load.
    ripple
        Amplitude of the torque ripple [N m].
    sigma
        Standard deviations of the first four, shape (4, 3).
    rms
        What remains of the torque [N m].

    """

    reflected_inertia: NDArray[np.float64]
    coulomb: NDArray[np.float64]
    viscous: NDArray[np.float64]
    offset: NDArray[np.float64]
    ripple: NDArray[np.float64]
    sigma: NDArray[np.float64]
    rms: NDArray[np.float64]


def calibrate_joints(
    arm: Arm,
    times: ArrayLike,
    joints: ArrayLike,
    torques: ArrayLike,
    gear: ArrayLike,
    *,
    window: float = 0.04,
) -> JointCalibration:
    """
    Return friction and inertia of the drives.

    Parameters
    ----------
    arm
        The arm; its links are believed.
    times
        Evenly spaced times [s], shape (n,).
    joints, torques
        Joint angles [rad] and torques of the motors [N m], shape (n, 3).
    gear
        Turns of the motor for one of each joint, shape (3,).
    window
        Time over which angles are smoothed [s].

    Raises
    ------
    ParameterError
        Too few samples, gaps, or a joint that hardly moved.

    """
    from scipy.signal import savgol_filter  # noqa: PLC0415  (heavy)

    t, q, tau = (np.asarray(a, dtype=float) for a in (times, joints, torques))
    if len(t) < FEWEST or not np.all(np.isfinite(q)) or not np.all(np.isfinite(tau)):
        raise ParameterError(
            f'{len(t)} joint states were recorded; {FEWEST} and more, with angle and torque of '
            'every joint, are needed'
        )
    dt = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1], dt)  # lost messages are bridged
    q = np.column_stack([np.interp(even, t, q[:, k]) for k in range(JOINTS)])
    tau = np.column_stack([np.interp(even, t, tau[:, k]) for k in range(JOINTS)])
    width = max(2 * round(window / dt / 2) + 1, ORDER + 2)
    smooth = [savgol_filter(q, width, ORDER, deriv=k, delta=dt, axis=0) for k in range(3)]
    tau = savgol_filter(tau, width, ORDER, axis=0)
    inside = slice(width, -width)
    angle, rate, acceleration = (a[inside] for a in smooth)
    phase = 2 * np.asarray(gear, dtype=float) * q
    # whatever stands beside the smoothed torque is smoothed alike
    shapes = (np.sign(smooth[1]), np.sin(phase), np.cos(phase))
    waves = [savgol_filter(shape, width, ORDER, axis=0)[inside] for shape in shapes]
    rows = zip(angle, rate, acceleration, strict=True)
    unknown = tau[inside] - np.array([arm.dynamics(*row)[2] for row in rows])
    found = [
        _one_joint(
            k, rate[:, k], acceleration[:, k], unknown[:, k], [wave[:, k] for wave in waves]
        )
        for k in range(JOINTS)
    ]
    values = np.array([f[0] for f in found]).T
    return JointCalibration(
        reflected_inertia=values[0],
        coulomb=values[1],
        viscous=values[2],
        offset=values[3],
        ripple=np.hypot(values[4], values[5]),
        sigma=np.array([f[1][:4] for f in found]).T,
        rms=np.array([f[2] for f in found]),
    )


def _one_joint(
    joint: int,
    rate: NDArray[np.float64],
    acceleration: NDArray[np.float64],
    torque: NDArray[np.float64],
    waves: list[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return inertia, friction, offset, ripple; their deviations; the rest."""
    if np.abs(rate).max() < LEAST_RATE:
        raise ParameterError(
            f'joint {joint + 1} turned at most at {np.abs(rate).max():.2g} rad/s; record a motion '
            f'with {LEAST_RATE:g} rad/s and more, to and fro'
        )
    clear = np.abs(rate) > SLOW
    A = np.column_stack([acceleration, waves[0], rate, np.ones_like(rate), *waves[1:]])[clear]
    b = torque[clear]
    if len(b) < 4 * A.shape[1] or np.linalg.matrix_rank(A) < A.shape[1]:
        raise ParameterError(
            f'the motion of joint {joint + 1} does not separate inertia from friction; it has to '
            'turn to and fro at several speeds'
        )
    x, *_ = np.linalg.lstsq(A, b, rcond=None)
    for _ in range(5):  # outliers, as at turning points, count less
        rest = np.abs(b - A @ x)
        weight = 1 / np.sqrt(1 + (rest / (2 * np.median(rest) + 1e-12)) ** 2)
        x, *_ = np.linalg.lstsq(A * weight[:, None], b * weight, rcond=None)
    rest = b - A @ x
    variance = float(rest @ rest) / (len(b) - len(x))
    sigma = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * variance)
    return np.asarray(x, dtype=float), sigma, float(np.sqrt(np.mean(rest**2)))
