"""
Following a sequence of gaits.

At the start of each swing its change of velocity is found anew from where the sphere is and how
it moves, so that it comes back to the plan. Within the swing, and between swings, the pendulum
follows its reference under computed torque; the reference leans by what slope and resistance ask
for, and a little more by what position and velocity are off.
"""

from __future__ import annotations

import numpy as np
from rolling_controller.gait_following.leg_reference import LegReference
from rolling_controller.gait_following.momentum_filter import MomentumFilter
from rolling_controller.gait_following.reference_loop import LeanGains, ReferenceLoop
from rolling_controller.gait_following.swing_tracking import TrackingGains
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_planner.gait_planner import GaitSequence, GaitStep

FRICTION = 0.85  # share of the friction that a corrected swing may use
CORRECTION = 0.4  # greatest correction, as a share of the planned change and of the speed


class GaitFollower:
    """
    Feedback along a plan: call :meth:`command` at a fixed rate.

    Attributes
    ----------
    plan
        The plan.
    corrections
        Changes of velocity, planned and asked for, of each swing that was begun.

    """

    def __init__(
        self,
        plan: GaitSequence,
        *,
        limits: GaitLimits | None = None,
        gains: LeanGains | None = None,
        tracking: TrackingGains | None = None,
    ) -> None:
        """
        Take a plan.

        Parameters
        ----------
        plan
            Made for the sphere as it is believed to be.
        limits
            Of contact and drive, for the corrected swings.
        gains, tracking
            Gains.

        """
        self.plan = plan
        self._limits = limits or GaitLimits(friction=FRICTION * plan.params.mu)
        tracking = tracking or TrackingGains(torque=self._limits.torque)
        self._loop = ReferenceLoop(plan.params, plan.start, gains=gains, tracking=tracking)
        self._next = 0
        self.corrections: list[tuple[Array, Array]] = []

    @property
    def filter(self) -> MomentumFilter:
        """Estimator of slope, resistance and velocity."""
        return self._loop.filter

    def command(self, t: float, x: Array) -> Array:
        """
        Return the torque for a measured state.

        Parameters
        ----------
        t
            Time since the start of the plan [s]; before it, negative, the place is held.
        x
            State as measured, shape (16,).

        Returns
        -------
        NDArray
            Torque on the pendulum in W [N m], shape (3,).

        """
        r, V = self._loop.sense(t, x)
        if self._next < len(self.plan.steps) and t >= self.plan.steps[self._next].start:
            self._begin_swing(t, r, V)
        return self._loop.torque(t, x, r, V)

    def _begin_swing(self, t: float, r: Array, V: Array) -> None:
        """Correct the next swing for where the sphere is and how it moves."""
        step = self.plan.steps[self._next]
        T = step.swing.period
        planned = step.swing.velocity_change
        off = step.velocity - V
        if self._next + 1 < len(self.plan.steps):
            # reaching the next corner exactly would ring: V overshoots by what r was off
            left = self.plan.steps[self._next + 1].start - t
            off = off + (step.position - r) / max(left, 2 * T)
        room = CORRECTION * max(float(np.hypot(*planned)), float(np.hypot(*step.velocity)), 0.05)
        size = float(np.hypot(*off))
        if size > room:
            off *= room / size
        swing = self._swing(step, planned + off)
        self.corrections.append((planned, swing.velocity_change))
        self._next += 1
        last = self._next == len(self.plan.steps)
        goal = step.corner if last else None
        self._loop.begin(LegReference(t, swing, r, V, goal))

    def _swing(self, step: GaitStep, change: Array) -> SpatialSwing:
        """Return the swing nearest to what is wanted that the limits allow, on this slope."""
        params = self._loop.floor
        for share in (1.0, 0.8, 0.6, 0.4):
            trial = step.swing.velocity_change * (1 - share) + change * share
            try:
                return swing_for(params, trial, step.swing.period, self._limits)
            except ParameterError:
                continue
        return step.swing
