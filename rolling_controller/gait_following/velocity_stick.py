"""
The sphere on a stick: a wanted velocity, reached by one swing after another.

A swing is begun when the wanted velocity is off by more than a deadband; it lasts a fixed period
and changes the velocity as far as contact and drive allow. In between the velocity is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.gait_following.leg_reference import LegReference
from rolling_controller.gait_following.momentum_filter import MomentumFilter
from rolling_controller.gait_following.reference_loop import LeanGains, ReferenceLoop
from rolling_controller.gait_following.swing_tracking import TrackingGains
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import scales_of, SphereParameters
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.spatial_swing import swing_for

RESERVE = 0.7  # share of friction and torque that a swing may use


class VelocityStick:
    """
    Turns a wanted velocity into swings: call :meth:`command` at a fixed rate.

    Attributes
    ----------
    period
        Of every swing [s].
    greatest_change
        Change of velocity that one swing can make [m/s].

    """

    def __init__(
        self,
        params: SphereParameters,
        position: ArrayLike = (0.0, 0.0),
        *,
        limits: GaitLimits | None = None,
        period: float | None = None,
        deadband: float = 0.03,
        gains: LeanGains | None = None,
    ) -> None:
        """
        Begin at rest.

        Parameters
        ----------
        params
            The sphere as it is believed to be.
        position
            Contact point [m].
        limits
            Of contact and drive.
        period
            Of a swing [s]; five of the paper's units of time if None.
        deadband
            Error of velocity that begins no swing [m/s].
        gains
            Of what keeps the velocity between swings.

        """
        limits = limits or GaitLimits()
        mu = params.mu if limits.friction is None else limits.friction
        self._limits = GaitLimits(
            friction=RESERVE * mu,
            torque=RESERVE * limits.torque,
            amplitude=1.2,
            normal_force=1 - (1 - limits.normal_force) * RESERVE,
        )
        self.period = 5 * scales_of(params).time if period is None else period
        self.greatest_change = greatest_change(params, self.period, self._limits)
        if not self.greatest_change > 0:
            raise ParameterError(
                f'no swing of {self.period:.4g} s is possible within the limits; take a longer '
                'period, more torque or more friction'
            )
        if not deadband > 0:
            raise ParameterError(f'deadband must be positive [m/s], got {deadband!r}')
        self._deadband, self._busy_until = deadband, -np.inf
        self._kept = np.zeros(2)  # velocity that the reference has after the swing
        self._loop = ReferenceLoop(
            params, position, gains=gains, tracking=TrackingGains(torque=limits.torque)
        )

    @property
    def filter(self) -> MomentumFilter:
        """Estimator of slope, resistance and velocity."""
        return self._loop.filter

    def command(self, t: float, x: Array, wanted: ArrayLike) -> Array:
        """
        Return the torque for a measured state and a wanted velocity.

        Parameters
        ----------
        t
            Time [s], increasing.
        x
            State as measured, shape (16,).
        wanted
            Velocity along the floor, shape (2,) [m/s].

        Returns
        -------
        NDArray
            Torque on the pendulum in W [N m], shape (3,).

        """
        goal = np.asarray(wanted, dtype=float)
        if goal.shape != (2,) or not np.all(np.isfinite(goal)):
            raise ParameterError(f'wanted: two finite numbers are needed [m/s], got {wanted!r}')
        r, V = self._loop.sense(t, x)
        if t >= self._busy_until and np.hypot(*(goal - self._kept)) > self._deadband:
            self._begin(t, r, V, goal)
        return self._loop.torque(t, x, r, V)

    def _begin(self, t: float, r: Array, V: Array, goal: Array) -> None:
        change = goal - V
        size = float(np.hypot(*change))
        if size > 0.98 * self.greatest_change:
            change *= 0.98 * self.greatest_change / size
        swing = swing_for(self._loop.floor, change, self.period, self._limits)
        self._kept = V + change
        if np.hypot(*(goal - self._kept)) < 1e-12 and not goal.any():
            rest = r + V * self.period / 2  # where a stop ends
            self._loop.begin(LegReference(t, swing, r, V, rest))
        else:
            self._loop.begin(LegReference(t, swing, r, V, None))
        self._busy_until = t + self.period
