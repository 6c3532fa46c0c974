"""
Loop common to both feedbacks: estimate, reference, lean, and the pendulum's torque.

Slope, rolling resistance and velocity are estimated from the momentum law. The vector
K = I Omega + R_o e x (M V + m v) changes at the rate

    dK/dt = -Q + (M + m) R_o e x g - delta N s

(Ivanova & Pivovarova, Eqs. (1), (2), summed): the drive's torque is known and K is measured, so
the remainder is slope and resistance. A Kalman filter estimates (K_x, K_y, d_x, d_y, c): the
slope's torque d, and the resistance c = delta N against the rolling direction s.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import STATE as STATE_INPUT
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.parameters import SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import (
    PARAMETERS,
    pendulum_direction,
    PendulumSphere,
    resting_direction,
    STATE,
)


def on_slope(params: SphereParameters, gravity: Array) -> SphereParameters:
    """Return the sphere on the floor under this gravity [m/s^2], 3 numbers in the floor's axes."""
    along = float(np.hypot(gravity[0], gravity[1]))
    azimuth = float(np.arctan2(gravity[1], gravity[0]))
    return params.on_slope(float(np.arctan2(along, -gravity[2])), azimuth)


def resting_lean(params: SphereParameters, gravity: Array) -> Array:
    """Return the lean at which the pendulum rests under this gravity, as an angle vector."""
    try:
        return lean_of(resting_direction(on_slope(params, gravity)))
    except ParameterError:  # steeper than can be held: lean as far as there is sense in
        return np.array(-gravity[:2] / np.hypot(*gravity[:2]) * 1.2)


def lean_of(n: Array) -> Array:
    """Return the angle of a unit vector n from hanging along the normal [rad], shape (2,)."""
    size = float(np.hypot(n[0], n[1]))
    return np.array(n[:2] * (np.arctan2(size, -n[2]) / size if size > 1e-12 else 1.0))


def turned(turn: Array, n: Array) -> Array:
    """Return n, shape (3,), turned by a rotation vector [rad]."""
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return n
    axis = turn / angle
    return np.array(
        n * np.cos(angle)
        + np.cross(axis, n) * np.sin(angle)
        + axis * (axis @ n) * (1 - np.cos(angle))
    )


GRID = 400  # samples of a swing, looked up in the loop


class LegReference:
    """
    The reference from the start of a swing until the next one.

    Attributes
    ----------
    rest
        Lean of the pendulum between swings [rad].

    """

    def __init__(
        self,
        start: float,
        swing: SpatialSwing,
        position: Array,
        velocity: Array,
        goal: Array | None,
    ) -> None:
        """
        Tabulate a swing.

        Parameters
        ----------
        start
            Time at which it starts [s].
        swing
            The swing.
        position, velocity
            Contact point and its velocity at the start [m], [m/s].
        goal
            Position at which the sphere rests after it; None if it rolls on.

        """
        self._start, self._period, self._goal = start, swing.period, goal
        self._position, self._velocity = position.copy(), velocity.copy()
        t = np.linspace(0, swing.period, GRID + 1)
        table = swing.at(t)
        self._table = np.hstack(
            [
                swing.displacement_gain(t),
                swing.velocity_gain(t),
                table.n,
                table.omega,
                table.omega_rate,
            ]
        )
        self._after = self._table[-1, 2:4] + velocity
        self._rest_n = table.n[0]
        self.rest = lean_of(table.n[0])

    @classmethod
    def resting(cls, params: SphereParameters, position: Array) -> LegReference:
        """Return the reference of a rest at a contact point [m], 2 numbers."""
        swing = SpatialSwing(params=params, direction=0.0, amplitude=0.0, period=1e-3)
        here = np.asarray(position, dtype=float)
        return cls(-np.inf, swing, here, np.zeros(2), here)

    def at(self, t: float) -> tuple[Array, Array, Array, Array, Array]:
        """
        Return contact point [m], its velocity [m/s], n, omega [rad/s] and its rate [rad/s^2].

        At a time [s]; the first two have the shape (2,), the others (3,), in W.
        """
        local = t - self._start
        if local < self._period:
            where = max(local, 0.0) / self._period * GRID
            k = min(int(where), GRID - 1)
            row = self._table[k] + (where - k) * (self._table[k + 1] - self._table[k])
            position = self._position + local * self._velocity + row[:2]
            return position, self._velocity + row[2:4], row[4:7], row[7:10], row[10:13]
        zero = np.zeros(3)
        if self._goal is not None:
            return self._goal, np.zeros(2), self._rest_n, zero, zero
        end = self._position + self._period * self._velocity + self._table[-1, :2]
        rolled = end + (local - self._period) * self._after
        return rolled, self._after, self._rest_n, zero, zero


FREQUENCY, DAMPING = 18.0, 0.9  # rad/s of the error's decay, and fraction of critical damping


class SwingTracking:
    """Computed torque on the sphere's full equations, for the gravity as estimated."""

    def __init__(self, params: SphereParameters, limit: float = math.inf) -> None:
        """Take the assumed parameters of the sphere, and the maximum torque [N m]."""
        self._limit = limit
        self._p = PendulumSphere().pack_parameters(params)
        self._gravity = PARAMETERS.slice('gravity_W')
        self._torque = FastFunction(_torque_function())

    def torque(self, x: Array, gravity: Array, n: Array, omega: Array, omega_rate: Array) -> Array:
        """
        Return the torque for a wanted direction, angular velocity and acceleration.

        Parameters
        ----------
        x
            Measured state.
        gravity
            Estimated gravity in W [m/s^2].
        n, omega, omega_rate
            Wanted motion of the pendulum.

        Returns
        -------
        NDArray
            Torque on the pendulum in W [N m], within its limit.

        """
        self._p[self._gravity] = gravity
        Q = self._torque(x, n, omega, omega_rate, self._p)
        size = float(np.linalg.norm(Q))
        return Q * (self._limit / size) if size > self._limit else Q


@cache
def _torque_function() -> ca.Function:
    system = PendulumSphere()
    x, p = ca.SX.sym('x', STATE.size), ca.SX.sym('p', PARAMETERS.size)
    n_d, omega_d, rate_d = (ca.SX.sym(s, 3) for s in ('n', 'omega', 'rate'))
    X = system.pose(x, p)[1]
    n, omega = -X[:3, 2], x[STATE.slice('w_WP_W')]
    rate = rate_d + 2 * DAMPING * FREQUENCY * (omega_d - omega) + FREQUENCY**2 * ca.cross(n, n_d)
    tau = system.inverse_dynamics(x, rate, p)[1]
    return compiled(ca.Function('tracking_torque', [x, n_d, omega_d, rate_d, p], [tau]))[0]


STEEP = math.radians(3)  # standard deviation of an unknown slope
RESISTANCE = 1e-3  # m, standard deviation of the lever arm of the rolling resistance
WRONG = 0.1  # fraction by which masses may be wrong
RATE_NOISE = 0.05  # rad/s, of the shell's angular velocity as measured
DRIFT = 0.1  # fraction of the slope's deviation by which it may wander in a second


class MomentumFilter:
    """
    Estimates slope, rolling resistance and the shell's angular velocity.

    Attributes
    ----------
    state
        (K_x, K_y, d_x, d_y, c).
    covariance
        Of the state.

    """

    def __init__(self, params: SphereParameters) -> None:
        """Start on a floor as given by the parameters."""
        p = self._params = params
        total = p.shell_mass + p.pendulum_mass
        self._lever = total * p.shell_radius  # torque of gravity over its part along the floor
        g = p.gravity_W
        self.state = np.array([0.0, 0.0, -self._lever * g[1], self._lever * g[0], 0.0])
        slope = self._lever * p.gravity * STEEP
        self._drift = (DRIFT * slope) ** 2
        self._noise = (p.I0 * RATE_NOISE) ** 2
        weight = total * p.gravity
        self.covariance = np.diag(
            [self._noise, self._noise, slope**2, slope**2, (RESISTANCE * weight) ** 2]
        )
        self._started = False

    def update(self, n: Array, Omega: Array, omega: Array, Q: Array, dt: float) -> None:
        """
        Take a measurement, after dt seconds of the torque Q.

        Parameters
        ----------
        n, Omega, omega
            Pendulum's direction, angular velocities of shell and pendulum as measured.
        Q
            Torque that was commanded since the last call [N m].
        dt
            Time since then [s].

        """
        K = self.momentum(n, Omega, omega)
        if not self._started:
            self.state, self._started = np.concatenate([K, self.state[2:]]), True
            return
        size = math.hypot(Omega[0], Omega[1])
        s = np.asarray(Omega[:2]) / max(size, 0.3)
        F = np.eye(5)
        F[0, 2] = F[1, 3] = dt
        F[:2, 4] = -dt * s
        x = F @ self.state
        x[:2] -= np.asarray(Q[:2]) * dt
        # wrong masses act like a wrong torque that lasts about half a second
        wrong = (WRONG * math.hypot(Q[0], Q[1])) ** 2 * 0.5 * dt
        P = F @ self.covariance @ F.T
        P[[0, 1], [0, 1]] += wrong + 1e-12
        P[[2, 3], [2, 3]] += self._drift * dt
        S = P[:2, :2] + self._noise * np.eye(2)
        gain = P[:, :2] @ np.linalg.inv(S)
        self.state = x + gain @ (K - x[:2])
        self.covariance = P - gain @ P[:2]

    def momentum(self, n: Array, Omega: Array, omega: Array) -> Array:
        """
        Return the horizontal part of K, shape (2,) [kg m^2/s].

        Parameters
        ----------
        n
            Direction of the pendulum, a unit vector, shape (3,).
        Omega, omega
            Angular velocity of shell and pendulum, shape (3,) [rad/s].

        """
        return self._params.I0 * np.asarray(Omega[:2]) + self._pendulum_part(n, omega)

    def rates(self, n: Array, omega: Array) -> Array:
        """Return the shell's horizontal angular velocity as filtered, shape (2,) [rad/s]."""
        return np.array((self.state[:2] - self._pendulum_part(n, omega)) / self._params.I0)

    def gravity(self, Omega: Array | None = None) -> Array:
        """
        Return gravity as estimated, in W [m/s^2].

        Parameters
        ----------
        Omega
            If given, the resistance against this rolling is counted as if it were a slope.

        """
        d = self.state[2:4].copy()
        if Omega is not None:
            size = math.hypot(Omega[0], Omega[1])
            d -= max(self.state[4], 0.0) * np.asarray(Omega[:2]) / max(size, 0.3)
        along = np.array([d[1], -d[0]]) / self._lever
        g = self._params.gravity
        size = float(np.hypot(*along))
        if size > 0.5 * g:
            along *= 0.5 * g / size
        return np.array([*along, -math.sqrt(g * g - along @ along)])

    @property
    def slope(self) -> float:
        """Angle of the floor against the horizontal as estimated [rad]."""
        g = self.gravity()
        return math.atan2(math.hypot(g[0], g[1]), -g[2])

    def _pendulum_part(self, n: Array, omega: Array) -> Array:
        # m R_o R_t e x (omega x n) = m R_o R_t ((e . n) omega - (e . omega) n)
        return np.array(self._params.coupling * (n[2] * omega[:2] - omega[2] * n[:2]))


INPUTS = Layout((Entry(STATE_INPUT, tuple(STATE.names), ''),))  # of the laws of a sphere
E = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, kw_only=True)
class LeanGains:
    """
    Gains of position and velocity.

    Attributes
    ----------
    position, velocity
        Acceleration per error [1/s^2], [1/s].

    """

    position: float = 1.2
    velocity: float = 2.0


SMOOTHED = 6.0  # rad/s, of the filter that smooths the lean
STEEPEST = 0.3  # rad, maximum lean that corrects errors


class ReferenceLoop:
    """
    Keeps the sphere on a reference that changes from swing to swing.

    Attributes
    ----------
    params
        Parameters of the sphere, as assumed.
    filter
        Estimator of slope, resistance and velocity.

    """

    def __init__(
        self,
        params: SphereParameters,
        position: ArrayLike,
        *,
        gains: LeanGains | None = None,
        torque: float = math.inf,
    ) -> None:
        """
        Start at rest.

        Parameters
        ----------
        params
            Parameters of the sphere, as assumed.
        position
            Contact point [m].
        gains
            Gains.
        torque
            Maximum torque [N m].

        """
        self.params, self.gains = params, gains or LeanGains()
        self.filter = MomentumFilter(params)
        self._tracking = SwingTracking(params, torque)
        self._lean, self._lean_rate = np.zeros(2), np.zeros(2)
        self._leg = LegReference.resting(params, np.asarray(position, dtype=float))
        self._time: float | None = None
        self._dt = 0.0
        self._torque = np.zeros(3)

    def copied(self) -> ReferenceLoop:
        """Return a copy of the loop, which continues independently."""
        out = copy(self)
        out.filter = copy(self.filter)
        return out

    @property
    def floor(self) -> SphereParameters:
        """The sphere on the slope as estimated."""
        return on_slope(self.params, self.filter.gravity())

    def sense(self, t: float, x: Array) -> tuple[Array, Array]:
        """Take a measured state; return contact point and velocity as estimated."""
        self._dt = 0.0 if self._time is None else t - self._time
        self._time = t
        n, omega = pendulum_direction(x), x[STATE.slice('w_WP_W')]
        self.filter.update(n, x[STATE.slice('w_WS_W')], omega, self._torque, self._dt)
        self._rates = self.filter.rates(n, omega)
        R = self.params.shell_radius
        return x[STATE.slice('contact')], R * np.array([self._rates[1], -self._rates[0]])

    def begin(self, leg: LegReference) -> None:
        """Change to another reference; the pendulum stays where it leans."""
        old = self._leg.rest
        self._leg = leg
        self._lean = self._lean + old - leg.rest

    def torque(self, t: float, x: Array, r: Array, V: Array) -> Array:
        """Return the torque on the pendulum in W for the state that was sensed [N m]."""
        position, velocity, n, omega, rate = self._leg.at(t)
        gravity = self.filter.gravity(self._rates)
        acceleration = self._lean_towards(position - r, velocity - V, gravity)
        turn = np.cross([*self._lean, 0.0], E)  # rotation vector of a lean along the floor
        self._torque = self._tracking.torque(
            x,
            gravity,
            turned(turn, n),
            omega + np.cross([*self._lean_rate, 0.0], E),
            rate + np.cross([*acceleration, 0.0], E),
        )
        return self._torque.copy()

    def _lean_towards(self, off: Array, slow: Array, gravity: Array) -> Array:
        """Move the lean, a filtered angle along the floor, and return its acceleration."""
        p, k, dt = self.params, self.gains, self._dt
        wanted = k.position * np.clip(off, -0.3, 0.3) + k.velocity * slow
        # Eq. (12) for a resting pendulum: a = R_o m g R_t theta / (I0 - m R_o R_t)
        torque = p.shell_radius * p.pendulum_mass * p.gravity * p.pendulum_length
        answer = wanted * (p.I0 - p.coupling) / torque
        size = float(np.hypot(*answer))
        if size > STEEPEST:
            answer *= STEEPEST / size
        rest = resting_lean(p, gravity) - self._leg.rest
        w = SMOOTHED
        acceleration = w * w * (rest + answer - self._lean) - 2 * w * self._lean_rate
        self._lean_rate = self._lean_rate + dt * acceleration
        self._lean = self._lean + dt * self._lean_rate
        return np.array(acceleration)
