"""
The sphere on a stick: a wanted velocity, reached by one swing after another.

A swing is started when the wanted velocity is wrong by more than a deadband; it lasts a fixed
period and changes the velocity as far as contact and drive allow. In between the velocity is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.gait_following.reference_loop import (
    INPUTS,
    LeanGains,
    ReferenceLoop,
)
from rolling_controller.gait_following.swing_tracking import LegReference, TrackingGains
from rolling_controller.law import VELOCITY_W
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import scales_of, SphereParameters
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.spatial_swing import swing_for
from rolling_dynamics.pendulum_sphere.system import CONTROL

RESERVE = 0.7  # fraction of friction and torque that a swing may use


class StickMemory(NamedTuple):
    """
    Memory of a stick.

    Attributes
    ----------
    loop
        Estimate, reference and lean.
    kept
        Velocity that the reference has after the swing (2) [m/s].
    busy_until
        When the swing is over [s].

    """

    loop: ReferenceLoop
    kept: Array
    busy_until: float


class VelocityStick:
    """
    Turns a wanted velocity into swings, at a fixed rate; see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    swing_period
        Duration of every swing [s].
    greatest_change
        Change of velocity that one swing can make [m/s].

    """

    period: float | None = None
    opaque = 'each swing is found by a search within the limits of contact and drive'

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
        self.swing_period = 5 * scales_of(params).time if period is None else period
        self.greatest_change = greatest_change(params, self.swing_period, self._limits)
        if not self.greatest_change > 0:
            raise ParameterError(
                f'no swing of {self.swing_period:.4g} s is possible within the limits; take a '
                'longer period, more torque or more friction'
            )
        if not deadband > 0:
            raise ParameterError(f'deadband must be positive [m/s], got {deadband!r}')
        self._deadband = deadband
        self.inputs, self.output = Layout((*INPUTS.entries, VELOCITY_W)), CONTROL
        self._loop = ReferenceLoop(
            params, position, gains=gains, tracking=TrackingGains(torque=limits.torque)
        )

    def start(self, before: StickMemory | None = None) -> StickMemory:  # noqa: ARG002
        """Return the memory at rest; see :class:`rolling_controller.law.Law`."""
        return StickMemory(self._loop.copied(), np.zeros(2), -np.inf)

    def step(self, memory: StickMemory, inputs: ArrayLike, t: float) -> tuple[StickMemory, Array]:
        """
        Return the memory, and the torque for a measured state and a wanted velocity.

        Parameters
        ----------
        memory
            The memory before.
        inputs
            State as measured, shape (16,); then the wanted velocity in W (2) [m/s], and a turn
            rate, which is not used.
        t
            Time [s], increasing.

        Returns
        -------
        tuple of StickMemory and NDArray
            Torque on the pendulum in W [N m], shape (3,).

        Raises
        ------
        ParameterError
            The wanted velocity is not finite.

        """
        x, goal = np.split(np.asarray(inputs, dtype=float)[:-1], [-2])
        if not np.all(np.isfinite(goal)):
            raise ParameterError(f'the velocity must be finite [m/s], got {goal.tolist()}')
        loop, kept, busy = memory.loop.copied(), memory.kept, memory.busy_until
        r, V = loop.sense(t, x)
        if t >= busy and np.hypot(*(goal - kept)) > self._deadband:
            kept, busy = self._begin(loop, t, r, V, goal), t + self.swing_period
        return StickMemory(loop, kept, busy), loop.torque(t, x, r, V)

    def _begin(self, loop: ReferenceLoop, t: float, r: Array, V: Array, goal: Array) -> Array:
        """Begin a swing; return the velocity after it."""
        change = goal - V
        size = float(np.hypot(*change))
        if size > 0.98 * self.greatest_change:
            change *= 0.98 * self.greatest_change / size
        swing = swing_for(loop.floor, change, self.swing_period, self._limits)
        kept: Array = V + change
        stops = np.hypot(*(goal - kept)) < 1e-12 and not goal.any()
        rest = r + V * self.swing_period / 2 if stops else None  # where a stop ends
        loop.begin(LegReference(t, swing, r, V, rest))
        return kept
