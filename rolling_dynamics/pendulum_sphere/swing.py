"""
One swing of the pendulum in a vertical plane on a level floor, as plain formulas.

theta is the angle from the vertical towards the direction s of the swing; the sphere accelerates
along s. Ivanova & Pivovarova, Section 2.1, in SI units: their 1 is m and g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters

NODES = 32  # midpoints of half a period; the integrand is periodic, so the sum is exact


class Angle(NamedTuple):
    """Angle of the pendulum [rad], its rate and acceleration."""

    theta: Array
    rate: Array
    acceleration: Array


class PlanarMotion(NamedTuple):
    """Along the direction of the swing: acceleration [m/s^2], torque, normal force, friction."""

    acceleration: Array
    torque: Array
    normal_force: Array
    friction: Array


class SwingExtremes(NamedTuple):
    """Over one swing: least normal force [N], greatest friction / normal force, torque [N m]."""

    normal_force: Array
    friction: Array
    torque: Array


def swing_angle(t: ArrayLike, amplitude: ArrayLike, period: ArrayLike) -> Angle:
    """
    Return theta = alpha sin^2(pi t / T) [rad] and its derivatives, Eq. (8).

    Arguments broadcast to the shape of each.
    """
    t, alpha, T = (np.asarray(v, dtype=float) for v in (t, amplitude, period))
    w = 2 * np.pi / T
    return Angle(
        alpha * (1 - np.cos(w * t)) / 2,
        alpha * w / 2 * np.sin(w * t),
        alpha * w**2 / 2 * np.cos(w * t),
    )


def planar_motion(params: SphereParameters, angle: Angle) -> PlanarMotion:
    """
    Return what a motion of the pendulum in a vertical plane does on a level floor.

    Parameters
    ----------
    params
        The sphere.
    angle
        Angle and derivatives, any shape.

    Returns
    -------
    PlanarMotion
        The acceleration is Eq. (12) with the signs of its first and third terms corrected; the
        torque follows Eq. (10); it acts on the pendulum about s x e and moves it along s.

    """
    theta, rate, acc = angle
    sine, cosine = np.sin(theta), np.cos(theta)
    m, L, R, g = (
        params.pendulum_mass,
        params.pendulum_length,
        params.shell_radius,
        params.gravity,
    )
    c, total = params.coupling, params.shell_mass + m
    a = (
        R
        * (acc * (params.i0 - c * cosine) + c * rate**2 * sine + m * g * L * sine)
        / (params.I0 - c * cosine)
    )
    along = cosine * acc - sine * rate**2  # of the pendulum's centre relative to the shell's,
    upward = sine * acc + cosine * rate**2  # over R_t
    return PlanarMotion(
        a, a / R * params.I0 + c * along, total * g + m * L * upward, total * a + m * L * along
    )


def speed_change(params: SphereParameters, amplitude: ArrayLike, period: ArrayLike) -> Array:
    """
    Return the change of speed along the swing, Eq. (9); amplitude [rad] and period [s] broadcast.

    Raises
    ------
    ParameterError
        A period is not positive.

    """
    alpha, T = np.broadcast_arrays(*_checked(amplitude, period))
    motion = planar_motion(params, swing_angle(_times(T, NODES), alpha[..., None], T[..., None]))
    return np.array(motion.acceleration.mean(axis=-1) * T)


def turn_angle(
    params: SphereParameters, amplitude: ArrayLike, period: ArrayLike, speed: ArrayLike
) -> Array:
    """
    Return psi [rad], by which a swing across a motion turns it (Section 2.2).

    Amplitude [rad], period [s] and speed [m/s] broadcast to its shape.
    """
    change = speed_change(params, amplitude, period)
    return np.array(np.arctan2(change, np.asarray(speed, dtype=float)))


def swing_extremes(
    params: SphereParameters, amplitude: ArrayLike, period: ArrayLike
) -> SwingExtremes:
    """
    Return what swings ask of contact and drive; where the contact lifts, friction is inf.

    Amplitude [rad] and period [s] broadcast to the shape of each.
    """
    alpha, T = np.broadcast_arrays(*_checked(amplitude, period))
    times = np.linspace(0, 0.5, 2 * NODES + 1) * T[..., None]  # the second half mirrors the first
    motion = planar_motion(params, swing_angle(times, alpha[..., None], T[..., None]))
    N = motion.normal_force
    ratio = np.where(N > 0, np.abs(motion.friction) / np.where(N > 0, N, 1), np.inf)
    return SwingExtremes(N.min(axis=-1), ratio.max(axis=-1), np.abs(motion.torque).max(axis=-1))


def _times(T: Array, nodes: int) -> Array:
    return np.array((np.arange(nodes) + 0.5) / (2 * nodes) * T[..., None])


def _checked(amplitude: ArrayLike, period: ArrayLike) -> tuple[Array, Array]:
    alpha, T = np.asarray(amplitude, dtype=float), np.asarray(period, dtype=float)
    if not (np.all(np.isfinite(T)) and np.all(T > 0)):
        raise ParameterError(f'period must be positive [s], got {period!r}')
    if not np.all(np.isfinite(alpha)):
        raise ParameterError(f'amplitude must be finite [rad], got {amplitude!r}')
    return alpha, T
