"""The loop that both feedbacks share: estimate, reference, lean, and the pendulum's torque."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.gait_following.momentum_filter import MomentumFilter
from rolling_controller.gait_following.swing_tracking import (
    LegReference,
    on_slope,
    resting_lean,
    SwingTracking,
    TrackingGains,
    turned,
)
from rolling_controller.law import STATE as STATE_INPUT
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Entry, Layout
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.system import pendulum_direction, STATE

INPUTS = Layout((Entry(STATE_INPUT, tuple(STATE.names), ''),))  # of the laws of a sphere
E = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, kw_only=True)
class LeanGains:
    """
    Gains of position and velocity, and of the lean that answers them.

    Attributes
    ----------
    position, velocity
        Acceleration per error [1/s^2], [1/s].
    frequency
        Of the filter that smooths the lean [rad/s].
    most
        Greatest lean that answers errors [rad].

    """

    position: float = 1.2
    velocity: float = 2.0
    frequency: float = 6.0
    most: float = 0.3


class ReferenceLoop:
    """
    Keeps the sphere on a reference that changes from swing to swing.

    Attributes
    ----------
    params
        The sphere as it is believed to be.
    filter
        Estimator of slope, resistance and velocity.

    """

    def __init__(
        self,
        params: SphereParameters,
        position: ArrayLike,
        *,
        gains: LeanGains | None = None,
        tracking: TrackingGains | None = None,
    ) -> None:
        """
        Begin at rest.

        Parameters
        ----------
        params
            The sphere as it is believed to be.
        position
            Contact point [m].
        gains, tracking
            Gains.

        """
        self.params, self.gains = params, gains or LeanGains()
        self.filter = MomentumFilter(params)
        self._tracking = SwingTracking(params, tracking)
        self._lean, self._lean_rate = np.zeros(2), np.zeros(2)
        self._leg = LegReference.resting(params, np.asarray(position, dtype=float))
        self._time: float | None = None
        self._dt = 0.0
        self._torque = np.zeros(3)

    def copied(self) -> ReferenceLoop:
        """Return the loop as it is, which goes on apart from this one."""
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
        if size > k.most:
            answer *= k.most / size
        rest = resting_lean(p, gravity) - self._leg.rest
        w = k.frequency
        acceleration = w * w * (rest + answer - self._lean) - 2 * w * self._lean_rate
        self._lean_rate = self._lean_rate + dt * acceleration
        self._lean = self._lean + dt * self._lean_rate
        return np.array(acceleration)
