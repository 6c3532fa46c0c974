"""A swing of the pendulum: its lean, its reference, and the torque that tracks it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import PARAMETERS, resting_direction, STATE


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
            Time at which it begins [s].
        swing
            The swing.
        position, velocity
            Contact point and its velocity at the start [m], [m/s].
        goal
            Where the sphere rests after it; None if it rolls on.

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


@dataclass(frozen=True, kw_only=True)
class TrackingGains:
    """
    Gains of the pendulum's loop.

    Attributes
    ----------
    frequency, damping
        Of the error's decay [rad/s], and its fraction of critical damping.
    torque
        Greatest magnitude of the torque [N m].

    """

    frequency: float = 18.0
    damping: float = 0.9
    torque: float = np.inf


class SwingTracking:
    """Computed torque on the sphere's full equations, for the gravity as estimated."""

    def __init__(self, params: SphereParameters, gains: TrackingGains | None = None) -> None:
        """Take the sphere as it is believed to be."""
        self.gains = gains or TrackingGains()
        self._p = PendulumSphere().pack_parameters(params)
        self._gravity = PARAMETERS.slice('gravity_W')
        self._torque = FastFunction(_torque_function())

    def torque(self, x: Array, gravity: Array, n: Array, omega: Array, omega_rate: Array) -> Array:
        """
        Return the torque for a wanted direction, angular velocity and acceleration.

        Parameters
        ----------
        x
            State as measured.
        gravity
            As estimated, in W [m/s^2].
        n, omega, omega_rate
            What the pendulum shall do.

        Returns
        -------
        NDArray
            Torque on the pendulum in W [N m], within its limit.

        """
        self._p[self._gravity] = gravity
        w, z = self.gains.frequency, self.gains.damping
        Q = self._torque(x, n, omega, omega_rate, self._p, [w * w, 2 * z * w])
        size = float(np.linalg.norm(Q))
        return Q * (self.gains.torque / size) if size > self.gains.torque else Q


@cache
def _torque_function() -> ca.Function:
    system = PendulumSphere()
    x, p = ca.SX.sym('x', STATE.size), ca.SX.sym('p', PARAMETERS.size)
    n_d, omega_d, rate_d = (ca.SX.sym(s, 3) for s in ('n', 'omega', 'rate'))
    k = ca.SX.sym('k', 2)
    X = system.pose(x, p)[1]
    n, omega = -X[:3, 2], x[STATE.slice('w_WP_W')]
    rate = rate_d + k[1] * (omega_d - omega) + k[0] * ca.cross(n, n_d)
    tau = system.inverse_dynamics(x, rate, p)[1]
    return compiled(ca.Function('tracking_torque', [x, n_d, omega_d, rate_d, p, k], [tau]))[0]
