"""The torque that makes the pendulum follow a wanted motion: inverse dynamics and feedback."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
from rolling_dynamics.pendulum_sphere.system import PARAMETERS, STATE


@dataclass(frozen=True, kw_only=True)
class TrackingGains:
    """
    Gains of the pendulum's loop.

    Attributes
    ----------
    frequency, damping
        Of the error's decay [rad/s], and its share of critical damping.
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
