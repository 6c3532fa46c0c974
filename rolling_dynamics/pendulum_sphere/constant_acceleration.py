"""Straight motion with constant acceleration: phase plane, fixed points, first integral."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.prescribed_motion import require_always_solvable
from scipy.integrate import solve_ivp


class FixedPoint(NamedTuple):
    """An angle at which the pendulum stays [rad], and its kind: ``center`` or ``saddle``."""

    theta: float
    kind: str


class PhaseCurve(NamedTuple):
    """Times [s], angle [rad] and its rate [rad/s]."""

    times: Array
    theta: Array
    rate: Array


def angular_acceleration(
    params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike
) -> Array:
    """
    Return the pendulum's theta'' [rad/s^2], Eq. (19), in the common shape of theta and rate.

    theta in rad, its rate in rad/s, a0 in m/s^2.
    """
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    c, R, weight = params.coupling, params.shell_radius, params.pendulum_mass * params.gravity
    L = params.pendulum_length
    force = a0 / R * (params.I0 - c * np.cos(th)) - c * np.sin(th) * w**2 - weight * L * np.sin(th)
    return np.array(force / (params.i0 - c * np.cos(th)))


def torque(params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike) -> Array:
    """Return the torque that keeps the acceleration, about s x e [N m] (before Eq. (19))."""
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    acc = angular_acceleration(params, a0, th, w)
    swirl = np.cos(th) * acc - np.sin(th) * w**2
    return np.array(a0 / params.shell_radius * params.I0 + params.coupling * swirl)


def first_integral(
    params: SphereParameters, a0: float, theta: ArrayLike, rate: ArrayLike
) -> Array:
    """Return C, quadratic in the rate (after Eq. (19)), in (kg m^2)^2 / s^2."""
    th, w = np.asarray(theta, dtype=float), np.asarray(rate, dtype=float)
    c, R, i0, I0 = params.coupling, params.shell_radius, params.i0, params.I0
    b = params.pendulum_mass * params.gravity * params.pendulum_length
    cosine, sine = np.cos(th), np.sin(th)
    k = a0 / R
    return np.array(
        -((i0 - c * cosine) ** 2) * w**2 / 2
        + (i0 - c / 2 * cosine) * (b * cosine - k * c * sine)
        + k * th * (I0 * i0 + c * c / 2)
        - k * c * I0 * sine
    )


def fixed_points(params: SphereParameters, a0: float) -> tuple[FixedPoint, ...]:
    """
    Return the angles at which the pendulum stays while the sphere accelerates.

    Parameters
    ----------
    params
        The sphere, on a level floor.
    a0
        Acceleration [m/s^2].

    Returns
    -------
    tuple of FixedPoint
        A center and a saddle, in (-pi, pi].

    Raises
    ------
    ParameterError
        The condition (7) fails, or the acceleration is too great to be held.

    """
    require_always_solvable(params)
    # a0 I0 / R = sin theta m g R_t + cos theta a0 c / R = size cos(theta - ahead)
    b = params.pendulum_mass * params.gravity * params.pendulum_length
    k = a0 / params.shell_radius
    size, ahead = math.hypot(b, k * params.coupling), math.atan2(b, k * params.coupling)
    if not abs(k * params.I0) < size:
        most = b / math.sqrt(params.I0**2 - params.coupling**2) * params.shell_radius
        raise ParameterError(
            f'a constant acceleration of {a0:.6g} m/s^2 has no fixed point; less than '
            f'{most:.6g} m/s^2 can be held'
        )
    turn = math.acos(k * params.I0 / size)
    found = []
    angles = [math.remainder(ahead + side * turn, math.tau) for side in (-1, 1)]
    for angle in sorted(angles, key=abs):
        h = 1e-6
        slope = np.diff(angular_acceleration(params, a0, np.array([angle - h, angle + h]), 0.0))[0]
        found.append(FixedPoint(angle, 'center' if slope < 0 else 'saddle'))
    return tuple(found)


def phase_curve(
    params: SphereParameters, a0: float, theta: float, rate: float, times: ArrayLike
) -> PhaseCurve:
    """Return the motion from an angle [rad] and a rate [rad/s], at times [s], shape (N,)."""
    require_always_solvable(params)
    t = np.asarray(times, dtype=float)
    done = solve_ivp(
        lambda _, y: [y[1], float(angular_acceleration(params, a0, y[0], y[1]))],
        (t[0], t[-1]),
        [theta, rate],
        'DOP853',
        t_eval=t,
        rtol=1e-11,
        atol=1e-13,
    )
    return PhaseCurve(t, done.y[0], done.y[1])
