"""Swings of the pendulum in space, and their torque."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import (
    choose_gait,
    GaitLimits,
    speed_change,
    swing_angle,
)
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.system import (
    attitude_of,
    PendulumSphere,
    resting_direction,
    STATE,
)
from rolling_dynamics.rotations import product
from scipy.fft import dct

NODES = 32
STEPS = 40  # of Newton's method with the Jacobian of a level floor
CLOSE = 1e-11  # m/s, relative to the requested change


@dataclass(frozen=True, eq=False, kw_only=True)
class SwingTable:
    """
    A swing at several times: columns of values in W.

    Attributes
    ----------
    n, omega, omega_rate
        Direction, angular velocity and acceleration of the pendulum, shape (k, 3).
    acceleration
        Acceleration of the contact point, shape (k, 2) [m/s^2].
    torque, force
        Torque of the drive on the pendulum [N m] and force of the floor on the shell [N], shape
        (k, 3).

    """

    n: Array
    omega: Array
    omega_rate: Array
    acceleration: Array
    torque: Array
    force: Array

    @property
    def friction(self) -> float:
        """Maximum friction over normal force; inf if the contact lifts."""
        N = self.force[:, 2]
        if N.min() <= 0:
            return math.inf
        return float((np.linalg.norm(self.force[:, :2], axis=1) / N).max())


@dataclass(frozen=True, kw_only=True)
class SpatialSwing:
    """
    A swing of the pendulum.

    Attributes
    ----------
    params
        The sphere, with its slope.
    direction
        Direction of the swing in the floor [rad].
    amplitude, period
        alpha [rad] and T [s]; with an amplitude of zero the pendulum rests.

    """

    params: SphereParameters
    direction: float
    amplitude: float
    period: float

    @cached_property
    def axis(self) -> Array:
        """Unit vector b, about which the pendulum turns."""
        rest = resting_direction(self.params)
        across = np.array([math.sin(self.direction), -math.cos(self.direction), 0.0])  # s x e
        b = across - rest * (rest @ across)
        return np.array(b / np.linalg.norm(b))

    def at(self, times: ArrayLike) -> SwingTable:
        """
        Return the swing at times since its start [s], shape (k,).

        Outside of it the pendulum rests.
        """
        t = np.atleast_1d(np.asarray(times, dtype=float))
        angle = swing_angle(np.clip(t, 0, self.period), self.amplitude, self.period)
        inside = ((t >= 0) & (t <= self.period)).astype(float)
        b, rest = self.axis, resting_direction(self.params)
        theta = angle.theta[:, None]
        n = np.cos(theta) * rest + np.sin(theta) * np.cross(b, rest)
        omega, rate = np.outer(angle.rate * inside, b), np.outer(angle.acceleration * inside, b)
        x = np.zeros((t.size, STATE.size))
        x[:, STATE.slice('q_WS')] = [1, 0, 0, 0]
        x[:, STATE.slice('q_WP')] = attitude_of(n)
        x[:, STATE.slice('w_WP_W')] = omega
        p = PendulumSphere().pack_parameters(self.params)
        Omega_rate, Q, N_o = (np.array(v).T for v in _inverse_dynamics()(x.T, rate.T, p))
        a = self.params.shell_radius * np.column_stack([Omega_rate[:, 1], -Omega_rate[:, 0]])
        return SwingTable(n=n, omega=omega, omega_rate=rate, acceleration=a, torque=Q, force=N_o)

    @cached_property
    def _series(self) -> Array:
        """Cosine series of the acceleration over a period, shape (NODES, 2); it is symmetric."""
        times = (np.arange(NODES) + 0.5) / (2 * NODES) * self.period
        c = dct(self.at(times).acceleration, axis=0) / NODES
        c[0] /= 2
        return np.array(c)

    @property
    def velocity_change(self) -> Array:
        """Change of velocity over the swing, shape (2,) [m/s]."""
        return np.array(self._series[0] * self.period)

    def velocity_gain(self, times: ArrayLike) -> Array:
        """
        Return the change of velocity [m/s] since the start, at times [s] within it.

        Shape (k, 2).
        """
        t, w, c = self._terms(times)
        return np.array(c[0] * t + (np.sin(w * t) / w) @ c[1:])

    def displacement_gain(self, times: ArrayLike) -> Array:
        """
        Return the displacement [m] by the acceleration, at times [s] within it.

        Shape (k, 2).
        """
        t, w, c = self._terms(times)
        return np.array(c[0] * t**2 / 2 + ((1 - np.cos(w * t)) / w**2) @ c[1:])

    def _terms(self, times: ArrayLike) -> tuple[Array, Array, Array]:
        """Return times (k, 1), angular frequencies of the series, and its coefficients."""
        t = np.atleast_1d(np.asarray(times, dtype=float))[:, None]
        return t, np.array(2 * np.pi * np.arange(1, NODES) / self.period), self._series

    @property
    def half_displacement(self) -> Array:
        """
        Displacement by the acceleration until half time, shape (2,) [m].

        The swing is symmetric in time: its total displacement is T (V_before + V_after) / 2, as if
        the path had a corner at T / 2. At half time the sphere's distance from this corner is this
        displacement.
        """
        return np.array(self.displacement_gain(self.period / 2)[0])


def swing_for(
    params: SphereParameters, change: ArrayLike, period: float, limits: GaitLimits | None = None
) -> SpatialSwing:
    """
    Return the smallest swing with a given change of velocity.

    Parameters
    ----------
    params
        The sphere, with its slope.
    change
        Change of velocity, shape (2,) [m/s].
    period
        T [s].
    limits
        Limits of contact and drive.

    Returns
    -------
    SpatialSwing
        Its change of velocity is the given one to rounding.

    Raises
    ------
    ParameterError
        There is none within the limits, or the sphere cannot be held on the slope.

    """
    wanted = np.asarray(change, dtype=float)
    size = float(np.hypot(*wanted))
    limits = limits or GaitLimits()
    if size < 1e-12:
        return SpatialSwing(params=params, direction=0.0, amplitude=0.0, period=period)
    heading = math.atan2(wanted[1], wanted[0])
    z = np.array([choose_gait(params.on_slope(0.0), size, period, limits), heading])
    if params.slope == 0:
        return SpatialSwing(params=params, direction=heading, amplitude=z[0], period=period)

    def miss(z: Array) -> Array:
        swing = SpatialSwing(params=params, direction=z[1], amplitude=z[0], period=period)
        return np.array(swing.velocity_change - wanted)

    for _ in range(STEPS):
        r = miss(z)
        if np.abs(r).max() < CLOSE * size:
            break
        z = z - np.clip(_level_step(params, z, period, r), -0.3, 0.3)
    else:
        raise ParameterError(
            f'no swing of {period:.6g} s changes the velocity by {wanted.tolist()} m/s on a '
            f'slope of {math.degrees(params.slope):.4g} deg; take a longer period or a smaller '
            'change'
        )
    return SpatialSwing(params=params, direction=z[1], amplitude=z[0], period=period)


def _level_step(params: SphereParameters, z: Array, period: float, r: Array) -> Array:
    """Return the step of amplitude and direction that cancels r on a level floor."""
    h = 1e-5
    low, at, high = speed_change(params, z[0] + np.array([-h, 0, h]), period)
    cosine, sine = math.cos(z[1]), math.sin(z[1])
    along, across = cosine * r[0] + sine * r[1], cosine * r[1] - sine * r[0]
    return np.array([along * 2 * h / (high - low), across / at])


@cache
def _inverse_dynamics() -> ca.Function:
    return compiled(PendulumSphere().inverse_dynamics)[0]


def swing_torque(
    t: ca.SX, params: SphereParameters, swings: Sequence[tuple[float, SpatialSwing]]
) -> ca.SX:
    """
    Return the torque on the pendulum at a time [N m].

    Parameters
    ----------
    t
        Symbol of the time [s].
    params
        The sphere.
    swings
        Start [s] and swing, in order; between them the pendulum is held in its equilibrium.

    """
    system = PendulumSphere()
    p, hang = system.pack_parameters(params), attitude_of(resting_direction(params))
    upright, still = np.array([1.0, 0, 0, 0]), np.zeros(3)

    def torque(turn: ca.SX, rate: ca.SX, acceleration: ca.SX) -> ca.SX:
        x = ca.vertcat(np.zeros(2), upright, product(turn, ca.SX(hang)), still, rate)
        return system.inverse_dynamics(x, acceleration, p)[1]

    out = torque(ca.SX(upright), still, still)
    for start, swing in swings:
        local, w = t - start, 2 * np.pi / swing.period
        alpha, b = swing.amplitude, ca.DM(swing.axis if swing.amplitude else still)
        theta = alpha * (1 - ca.cos(w * local)) / 2  # Eq. (8)
        rate = alpha * w / 2 * ca.sin(w * local)
        acceleration = alpha * w**2 / 2 * ca.cos(w * local)
        turn = ca.vertcat(ca.cos(theta / 2), ca.sin(theta / 2) * b)
        inside = ca.logic_and(local >= 0, local <= swing.period)
        out = ca.if_else(inside, torque(turn, rate * b, acceleration * b), out)
    return out
