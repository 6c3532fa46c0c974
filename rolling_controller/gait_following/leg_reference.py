"""Where sphere and pendulum shall be during one swing and the rolling after it."""

from __future__ import annotations

import numpy as np
from rolling_controller.gait_following.lean import lean_of
from rolling_dynamics.arrays import Array
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing

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
