"""Motions of a sphere whose pendulum follows a prescribed motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
import math
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, PendulumSphere, STATE
from scipy.integrate import solve_ivp

LEAST_SHARE = 1e-3  # of i_0 that must be left of i_0 - m R_o R_t cos theta


@dataclass(frozen=True, eq=False, kw_only=True)
class PrescribedMotion:
    """
    A motion of the contact point and what it takes.

    Attributes
    ----------
    times
        Shape (k,) [s].
    states
        States of the system, shape (k, 16).
    torques, forces
        Of the drive and of the floor, shape (k, 3) [N m], [N].
    solvability
        (i_0 - m R_o R_t cos theta) / i_0, shape (k,).

    """

    times: NDArray[np.float64]
    states: NDArray[np.float64]
    torques: NDArray[np.float64]
    forces: NDArray[np.float64]
    solvability: NDArray[np.float64]


def always_solvable(params: SphereParameters) -> bool:
    """Return whether the condition (7) holds, i + m R_t^2 > m R_o R_t."""
    return params.i0 > params.coupling


def require_always_solvable(params: SphereParameters) -> None:
    """Raise ParameterError where the condition (7) fails, naming what would meet it."""
    if always_solvable(params):
        return
    m, R, L, i = (
        params.pendulum_mass,
        params.shell_radius,
        params.pendulum_length,
        params.pendulum_inertia,
    )
    text = (
        f'i + m R_t^2 = {params.i0:.6g} kg m^2 must exceed m R_o R_t = {params.coupling:.6g} '
        f'kg m^2 (condition (7)): a pendulum_inertia above {params.coupling - m * L * L:.6g} '
        'kg m^2 would do'
    )
    root = R * R - 4 * i / m
    if root >= 0:
        short, long = (R - math.sqrt(root)) / 2, (R + math.sqrt(root)) / 2
        text += f', or a pendulum_length below {short:.6g} m or from {long:.6g} to {R:.6g} m'
    raise ParameterError(text)


def solvability(params: SphereParameters, n: ArrayLike) -> NDArray[np.float64]:
    """Return the ratio (i_0 - m R_o R_t cos theta) / i_0 for directions n, shape (..., 3)."""
    cosine = -np.asarray(n, dtype=float)[..., 2]
    return np.array(1 - params.coupling * cosine / params.i0)


def prescribed_motion(
    params: SphereParameters,
    acceleration: Callable[[float], ArrayLike],
    times: ArrayLike,
    x_start: ArrayLike,
    *,
    rtol: float = 1e-11,
) -> PrescribedMotion:
    """
    Return the pendulum's motion and the torque that move the contact point as given.

    Parameters
    ----------
    params
        The sphere.
    acceleration
        ``t -> (a_x, a_y)`` of the contact point [m/s^2].
    times
        Where the result is wanted, increasing; the first is the start [s].
    x_start
        State at the start: contact point and velocity of the path, and any pendulum.
    rtol
        Relative tolerance.

    Returns
    -------
    PrescribedMotion
        At the times.

    Raises
    ------
    SimulationError
        The motion reaches a position of the pendulum in which it cannot be prescribed.

    """
    p = PendulumSphere().pack_parameters(params)
    t = np.asarray(times, dtype=float)
    x0 = np.array(x_start, dtype=float)
    rates = FastFunction(_functions()[0])
    sign = math.copysign(1.0, float(solvability(params, pendulum_direction(x0))))

    def margin(_: float, x: NDArray[np.float64]) -> float:
        return float(sign * solvability(params, pendulum_direction(x)) - LEAST_SHARE)

    if margin(0.0, x0) <= 0:
        raise _not_solvable(params, float(t[0]), x0)
    margin.terminal = True  # type: ignore[attr-defined]
    done = solve_ivp(
        lambda s, x: rates(x, acceleration(s), p),
        (t[0], t[-1]),
        x0,
        'DOP853',
        t_eval=t,
        events=margin,
        rtol=rtol,
        atol=rtol / 100,
    )
    if done.status == 1:
        raise _not_solvable(params, float(done.t_events[0][0]), done.y_events[0][0])
    if not done.success:
        raise SimulationError(f'the motion ends at t = {done.t[-1]:.6g} s: {done.message}')
    a = np.array([acceleration(s) for s in t]).T
    _, torque, force = (np.array(v).T for v in _functions()[1](done.y, a, p))
    n = np.array([pendulum_direction(x) for x in done.y.T])
    return PrescribedMotion(
        times=t, states=done.y.T, torques=torque, forces=force, solvability=solvability(params, n)
    )


@cache
def _functions() -> tuple[ca.Function, ca.Function]:
    system = PendulumSphere()
    x, a = ca.SX.sym('x', STATE.size), ca.SX.sym('a', 2)
    p = ca.SX.sym('p', system.parameters.size)
    _, tau, _ = system.prescribed_dynamics(x, a, p)
    rates = ca.Function('prescribed_rates', [x, a, p], [system.mode.dynamics(x, tau, 0, p)])
    built = compiled(rates, system.prescribed_dynamics)
    return built[0], built[1]


def _not_solvable(params: SphereParameters, t: float, x: NDArray[np.float64]) -> SimulationError:
    theta = math.degrees(math.acos(np.clip(-pendulum_direction(x)[2], -1, 1)))
    try:
        require_always_solvable(params)
        cure = 'start with another position of the pendulum'
    except ParameterError as e:
        cure = str(e)
    return SimulationError(
        f'the motion cannot be prescribed beyond t = {t:.6g} s: the pendulum stands at '
        f'{theta:.4g} deg, where i_0 = m R_o R_t cos theta and no torque gives the acceleration; '
        f'{cure}'
    )


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
