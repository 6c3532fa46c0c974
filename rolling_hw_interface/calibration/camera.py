"""Calibration of camera and joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_hw_interface.arm import Arm, JOINTS
from rolling_hw_interface.pose_filter import quaternion_of
from transforms3d.quaternions import mat2quat, quat2mat

FEWEST = 50  # images
LEAST_WAY = 0.02  # of the hand, so that times can be distinguished [m]
LENGTH = 0.05  # m, by which a turn is weighed against a shift


@dataclass(frozen=True, kw_only=True)
class MeasuredPoses:
    """
    Measured poses of a body, such as those of the markers' body in the camera.

    Attributes
    ----------
    stamps, arrivals
        By the clock of the sensor, and by the host's when they came [s]; shape (n,).
    p, q
        Place [m], shape (n, 3), and attitude (w, x, y, z), shape (n, 4).

    """

    stamps: Array
    arrivals: Array
    p: Array
    q: Array


@dataclass(frozen=True, kw_only=True)
class CameraCalibration:
    """
    Result of the calibration of a camera.

    Attributes
    ----------
    X_WC
        Pose of the camera in the world, shape (4, 4).
    clock_offset
        Offset of its clock from the host's [s].
    latency
        Minimum, median and maximum time from an image to its arrival [s].
    rms
        Root mean square of the residuals of positions [m].
    sigma
        Standard deviations of position [m] (3), rotation [rad] (3) and offset [s].
    used
        Number of images that were not outliers.

    """

    X_WC: Array
    clock_offset: float
    latency: tuple[float, float, float]
    rms: float
    sigma: Array
    used: int


def calibrate_camera(
    arm: Arm, times: ArrayLike, joints: ArrayLike, measured: MeasuredPoses, X_HB: ArrayLike
) -> CameraCalibration:
    """
    Return the camera's pose and clock.

    Parameters
    ----------
    arm
        The arm.
    times, joints
        Times of the host [s], shape (k,), and joint angles [rad], shape (k, 3).
    measured
        Measurements of the camera.
    X_HB
        Pose of the markers' body in the hand, shape (4, 4).

    Raises
    ------
    ParameterError
        Too few images, or the hand hardly moved.

    """
    from scipy.optimize import least_squares  # noqa: PLC0415  (heavy)

    t, q = np.asarray(times, dtype=float), np.asarray(joints, dtype=float)
    if len(measured.stamps) < FEWEST:
        raise ParameterError(f'{len(measured.stamps)} images were recorded, {FEWEST} are needed')
    hands = np.array([_in_plane(arm.hand_state(angles)) for angles in q])
    if np.ptp(hands[:, :2], axis=0).max() < LEAST_WAY:
        raise ParameterError(
            f'the hand moved by {np.ptp(hands[:, :2], axis=0).max():.3g} m; {LEAST_WAY:g} m and '
            'more are needed to distinguish times'
        )
    mount = np.asarray(X_HB, dtype=float)
    apart = measured.stamps - measured.arrivals
    offset = float(np.max(apart))
    first = _mean_camera(_bodies(t, hands, measured.stamps - offset, mount), measured)

    def residual(d: Array) -> Array:
        X_WC = _moved(first, d[:6])
        bodies = _bodies(t, hands, measured.stamps - offset - d[6], mount)
        return _apart(X_WC, bodies, measured).ravel()

    done = least_squares(residual, np.zeros(7), loss='soft_l1', f_scale=1e-3, x_scale='jac')
    rest = residual(done.x).reshape(-1, 6)
    size = np.linalg.norm(rest[:, :3], axis=1)
    good = size < max(4 * float(np.median(size)), 1e-6)
    variance = float(np.mean(rest[good] ** 2))
    sigma = np.sqrt(np.maximum(np.diag(np.linalg.pinv(done.jac.T @ done.jac)) * variance, 0.0))
    found = offset + float(done.x[6])
    late = np.sort(measured.arrivals - (measured.stamps - found))
    return CameraCalibration(
        X_WC=_moved(first, done.x[:6]),
        clock_offset=found,
        latency=(float(late[0]), float(np.median(late)), float(late[-1])),
        rms=float(np.sqrt(np.mean(size[good] ** 2))),
        sigma=sigma,
        used=int(good.sum()),
    )


def _in_plane(hand: Array) -> tuple[float, float, float]:
    """Return x, z [m] and pitch [rad] of the hand of a planar arm."""
    return hand[4], hand[6], 2.0 * np.arctan2(hand[2], hand[0])


def _bodies(t: Array, hands: Array, when: Array, mount: Array) -> list[Array]:
    """Return X_WB at some times, by interpolation of the hand's coordinates."""
    x, z, pitch = (np.interp(when, t, hands[:, k]) for k in range(3))
    out = []
    for k in range(len(when)):
        c, s = np.cos(pitch[k]), np.sin(pitch[k])
        X = np.array([[c, 0, s, x[k]], [0, 1, 0, 0], [-s, 0, c, z[k]], [0, 0, 0, 1.0]])
        out.append(X @ mount)
    return out


def _mean_camera(bodies: list[Array], measured: MeasuredPoses) -> Array:
    """Return the mean of X_WB X_BC over all images."""
    cameras = []
    for X_WB, p, q in zip(bodies, measured.p, measured.q, strict=True):
        X_CB = np.eye(4)
        X_CB[:3, :3], X_CB[:3, 3] = quat2mat(q), p
        cameras.append(X_WB @ np.linalg.inv(X_CB))
    stack = np.array(cameras)
    U, _, Vt = np.linalg.svd(stack[:, :3, :3].mean(axis=0))
    out = np.eye(4)
    out[:3, :3] = U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt
    out[:3, 3] = np.median(stack[:, :3, 3], axis=0)
    return out


def _moved(X: Array, d: Array) -> Array:
    """Return a pose shifted by d[:3] [m] and turned by d[3:] [rad], in the world's axes."""
    out = X.copy()
    out[:3, :3] = quat2mat(quaternion_of(d[3:6])) @ X[:3, :3]
    out[:3, 3] += d[:3]
    return out


def _apart(X_WC: Array, bodies: list[Array], measured: MeasuredPoses) -> Array:
    """Return measured minus expected poses: metres and radians times ``LENGTH``, shape (n, 6)."""
    out = np.empty((len(bodies), 6))
    for k, X_WB in enumerate(bodies):
        R = X_WC[:3, :3] @ quat2mat(measured.q[k])
        out[k, :3] = X_WC[:3, :3] @ measured.p[k] + X_WC[:3, 3] - X_WB[:3, 3]
        out[k, 3:] = LENGTH * rotation_vector(mat2quat(R @ X_WB[:3, :3].T))
    return out


SAMPLES = 500  # samples
ORDER = 3  # of the polynomials that smooth the angles
WINDOW = 0.04  # over which they do [s]
SLOW = 0.03  # rate below which the sign of friction is not trusted [rad/s]
LEAST_RATE = 0.1  # that each joint has to reach [rad/s]


@dataclass(frozen=True, kw_only=True)
class JointCalibration:
    """
    Result of the calibration of joints, for each; shape (3,) each.

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

    reflected_inertia: Array
    coulomb: Array
    viscous: Array
    offset: Array
    ripple: Array
    sigma: Array
    rms: Array


def calibrate_joints(
    arm: Arm, times: ArrayLike, joints: ArrayLike, torques: ArrayLike, gear: ArrayLike
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

    Raises
    ------
    ParameterError
        Too few samples, gaps, or a joint that hardly moved.

    """
    from scipy.signal import savgol_filter  # noqa: PLC0415  (heavy)

    t, q, tau = (np.asarray(a, dtype=float) for a in (times, joints, torques))
    if len(t) < SAMPLES or not np.all(np.isfinite(q)) or not np.all(np.isfinite(tau)):
        raise ParameterError(
            f'{len(t)} joint states were recorded; {SAMPLES} and more, with angle and torque of '
            'every joint, are needed'
        )
    dt = float(np.median(np.diff(t)))
    even = np.arange(t[0], t[-1], dt)  # lost messages are bridged
    q = np.column_stack([np.interp(even, t, q[:, k]) for k in range(JOINTS)])
    tau = np.column_stack([np.interp(even, t, tau[:, k]) for k in range(JOINTS)])
    width = max(2 * round(WINDOW / dt / 2) + 1, ORDER + 2)
    smooth = [savgol_filter(q, width, ORDER, deriv=k, delta=dt, axis=0) for k in range(3)]
    tau = savgol_filter(tau, width, ORDER, axis=0)
    inside = slice(width, -width)
    angle, rate, acceleration = (a[inside] for a in smooth)
    phase = 2 * np.asarray(gear, dtype=float) * q
    # all terms are smoothed like the torque
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
    joint: int, rate: Array, acceleration: Array, torque: Array, waves: list[Array]
) -> tuple[Array, Array, float]:
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
