"""
Following a sequence of gaits, which is read from the states of a plan.

At the start of each swing its change of velocity is computed again from where the sphere is and
how it moves, so that it comes back to the plan. Within the swing, and between swings, the pendulum
follows its reference under computed torque; the reference leans by what slope and resistance ask
for, and a little more by what position and velocity are off.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
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
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_dynamics.pendulum_sphere.system import CONTROL, resting_direction, STATE
from rolling_planner.gait_planner import GaitSequence, GaitStep
from rolling_planner.plan import HOLD, Plan

SLICE = 512  # samples between two questions whether to give up
STILL = 1e-5  # rad, rad/s: a pendulum nearer than this to its rest is at rest
FIT = 1e-3  # m, m/s, rad: by how much the plan may differ from the gaits that were read


def read_gaits(
    params: SphereParameters, plan: Plan, interrupted: Callable[[], bool] = lambda: False
) -> GaitSequence:
    """
    Return the sequence of gaits of which a plan consists.

    A swing takes the pendulum from its rest and back to it; between swings it rests.

    Parameters
    ----------
    params
        The sphere.
    plan
        States sampled so densely that every rest between two swings is among them.
    interrupted
        Asked at each swing, and every some hundred samples, whether to give up.

    Raises
    ------
    ParameterError
        The plan consists of something else.
    CancelledError
        Interrupted.

    """
    if plan.interpolation == HOLD:
        raise ParameterError(
            "the torques of gaits are linear between the times, and plan.interpolation is 'hold': "
            "sample the gaits and send them as 'linear'"
        )
    n = _directions(plan.states)
    rate = plan.states[:, STATE.slice('w_WP_W')]
    away = np.linalg.norm(n - resting_direction(params), axis=1)
    still = (away < STILL) & (np.linalg.norm(rate, axis=1) < STILL)
    if not (still[0] and still[-1]):
        raise ParameterError(
            'the plan is not a sequence of gaits: the pendulum does not rest at its start and end'
        )
    rests = np.flatnonzero(still)
    swings = [(a, b) for a, b in pairwise(rests.tolist()) if b > a + 1]
    steps = []
    for begin, end in swings:
        _ask(interrupted)
        steps.append(_step(params, plan, begin, end))
    found = GaitSequence(
        params=params,
        start=plan.states[0, STATE.slice('contact')].copy(),
        steps=tuple(steps),
        duration=float(plan.times[-1]),
    )
    for k in range(0, len(plan.times), SLICE):
        _ask(interrupted)
        _check(found, plan, n, slice(k, k + SLICE))
    return found


def _ask(interrupted: Callable[[], bool]) -> None:
    if interrupted():
        raise CancelledError('the reading of the gaits was interrupted')


def _step(params: SphereParameters, plan: Plan, begin: int, end: int) -> GaitStep:
    start, period = float(plan.times[begin]), float(plan.times[end] - plan.times[begin])
    before, after = (_velocity(params, plan.states[k]) for k in (begin, end))
    position = plan.states[begin, STATE.slice('contact')].copy()
    try:
        swing = swing_for(params, after - before, period)
    except ParameterError as error:
        raise ParameterError(
            f'the plan is not a sequence of gaits: from {start:.4g} s on, {error}'
        ) from None
    return GaitStep(
        start=start,
        swing=swing,
        position=position,
        velocity=before,
        corner=position + before * period / 2,
    )


def _velocity(params: SphereParameters, x: Array) -> Array:
    Omega = x[STATE.slice('w_WS_W')]
    return params.shell_radius * np.array([Omega[1], -Omega[0]])


def _directions(states: Array) -> Array:
    """Return -z of the pendulum's frame for each state, shape (k, 3)."""
    w, x, y, z = states[:, STATE.slice('q_WP')].T
    return -np.column_stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _check(found: GaitSequence, plan: Plan, n: Array, part: slice) -> None:
    """Refuse a plan that is not what was read from it, in a part of its samples."""
    times, states = plan.times[part], plan.states[part]
    ref = found.reference(times)
    R = found.params.shell_radius
    Omega = states[:, STATE.slice('w_WS_W')]
    pairs = {
        'contact': states[:, STATE.slice('contact')] - ref.position,
        'w_WS_W': R * np.column_stack([Omega[:, 1], -Omega[:, 0]]) - ref.velocity,
        'q_WP': n[part] - ref.n,
    }
    for name, miss in pairs.items():
        size = np.linalg.norm(miss, axis=1)
        k = int(np.argmax(size))
        if not size[k] < FIT:
            raise ParameterError(
                f'the plan is not a sequence of gaits: {name} at {times[k]:.4g} s is '
                f'{size[k]:.3g} off what swings would do'
            )


FRICTION = 0.85  # fraction of the friction that a corrected swing may use
CORRECTION = 0.4  # greatest correction, as a fraction of the planned change and of the speed


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
        Changes of velocity, planned and asked for, of each swing that was started.

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
