"""
The torque for a given motion of the contact point (Ivanova & Pivovarova, Eqs. (5), (6)).

The matrix F of Eq. (6) has the determinant (i + j) (i_0 - m R_o R_t cos theta)^2, theta being the
angle between the pendulum and the normal of the floor (without rolling resistance): the motion can
be prescribed as long as i_0 differs from m R_o R_t cos theta. The condition (7) is sufficient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.pendulum_sphere.machine import STATE
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.posture import pendulum_direction
from rolling_dynamics.pendulum_sphere.system import PendulumSphere
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
    """Tell whether the condition (7) holds, i + m R_t^2 > m R_o R_t."""
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
