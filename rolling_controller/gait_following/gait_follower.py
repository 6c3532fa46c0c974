"""
Following a sequence of gaits.

At the start of each swing its change of velocity is found anew from where the sphere is and how
it moves, so that it comes back to the plan. Within the swing, and between swings, the pendulum
follows its reference under computed torque; the reference leans by what slope and resistance ask
for, and a little more by what position and velocity are off.
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
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_dynamics.pendulum_sphere.system import CONTROL
from rolling_planner.gait_planner import GaitSequence, GaitStep

FRICTION = 0.85  # share of the friction that a corrected swing may use
CORRECTION = 0.4  # greatest correction, as a share of the planned change and of the speed


class GaitMemory(NamedTuple):
    """
    Memory of a follower.

    Attributes
    ----------
    loop
        Estimate, reference and lean.
    next
        Number of the swing that comes next.
    corrections
        Changes of velocity, planned and asked for, of each swing that was begun.

    """

    loop: ReferenceLoop
    next: int = 0
    corrections: tuple[tuple[Array, Array], ...] = ()


class GaitFollower:
    """
    Feedback along a plan, at a fixed rate; see :class:`rolling_controller.law.Law`.

    Attributes
    ----------
    plan
        The plan.

    """

    period: float | None = None
    opaque = 'each swing is found by a search within the limits of contact and drive'

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
        self.inputs, self.output = INPUTS, CONTROL
        self.plan = plan
        self._limits = limits or GaitLimits(friction=FRICTION * plan.params.mu)
        tracking = tracking or TrackingGains(torque=self._limits.torque)
        self._loop = ReferenceLoop(plan.params, plan.start, gains=gains, tracking=tracking)

    def start(self, before: GaitMemory | None = None) -> GaitMemory:  # noqa: ARG002
        """Return the memory at rest; see :class:`rolling_controller.law.Law`."""
        return GaitMemory(self._loop.copied())

    def step(self, memory: GaitMemory, inputs: ArrayLike, t: float) -> tuple[GaitMemory, Array]:
        """
        Return the memory and the torque for a measured state.

        Parameters
        ----------
        memory
            The memory before.
        inputs
            State as measured, shape (16,).
        t
            Time since the start of the plan [s]; before it, negative, the place is held.

        Returns
        -------
        tuple of GaitMemory and NDArray
            Torque on the pendulum in W [N m], shape (3,).

        """
        x, loop, k = np.asarray(inputs, dtype=float), memory.loop.copied(), memory.next
        r, V = loop.sense(t, x)
        corrections = memory.corrections
        if k < len(self.plan.steps) and t >= self.plan.steps[k].start:
            swing = self._corrected(loop.floor, k, t, r, V)
            last = k + 1 == len(self.plan.steps)
            loop.begin(LegReference(t, swing, r, V, self.plan.steps[k].corner if last else None))
            planned = self.plan.steps[k].swing.velocity_change
            k, corrections = k + 1, (*corrections, (planned, swing.velocity_change))
        return GaitMemory(loop, k, corrections), loop.torque(t, x, r, V)

    def _corrected(
        self, floor: SphereParameters, k: int, t: float, r: Array, V: Array
    ) -> SpatialSwing:
        """Return the swing, corrected for where the sphere is and how it moves."""
        step = self.plan.steps[k]
        planned, off = step.swing.velocity_change, step.velocity - V
        if k + 1 < len(self.plan.steps):
            # reaching the next corner exactly would ring: V overshoots by what r was off
            left = self.plan.steps[k + 1].start - t
            off = off + (step.position - r) / max(left, 2 * step.swing.period)
        room = CORRECTION * max(float(np.hypot(*planned)), float(np.hypot(*step.velocity)), 0.05)
        size = float(np.hypot(*off))
        if size > room:
            off *= room / size
        return self._swing(floor, step, planned + off)

    def _swing(self, floor: SphereParameters, step: GaitStep, change: Array) -> SpatialSwing:
        """Return the swing nearest to what is wanted that the limits allow, on this slope."""
        for share in (1.0, 0.8, 0.6, 0.4):
            trial = step.swing.velocity_change * (1 - share) + change * share
            try:
                return swing_for(floor, trial, step.swing.period, self._limits)
            except ParameterError:
                continue
        return step.swing
