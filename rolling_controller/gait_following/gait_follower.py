"""
Follow a sequence of gaits, which is read from the states of a plan.

At the start of each swing its change of velocity is computed again from the sphere's position and
velocity, so that the sphere returns to the plan. Within and between swings the pendulum follows
its reference under computed torque. The reference leans to balance slope and resistance, and a
little more to correct errors of position and velocity.
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
    LegReference,
    ReferenceLoop,
)
from rolling_controller.law import VELOCITY_W
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import Layout
from rolling_dynamics.errors import CancelledError, check_positive, ParameterError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.parameters import scales_of, SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing, swing_for
from rolling_dynamics.pendulum_sphere.system import CONTROL, resting_direction, STATE
from rolling_planner.gait_planner.problem import GaitSequence, GaitStep, less
from rolling_planner.plan import HOLD, Plan

SLICE = 512  # samples between two questions whether to give up
STILL = 1e-5  # rad, rad/s: a pendulum nearer than this to its rest is at rest
FIT = 1e-3  # m, m/s, rad: tolerance between the plan and the gaits that were read


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
    )


def _velocity(params: SphereParameters, x: Array) -> Array:
    Omega = x[STATE.slice('w_WS_W')]
    return params.shell_radius * np.array([Omega[1], -Omega[0]])


def _directions(states: Array) -> Array:
    """Return -z of the pendulum's frame for each state, shape (k, 3)."""
    w, x, y, z = states[:, STATE.slice('q_WP')].T
    return -np.column_stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])


def _check(found: GaitSequence, plan: Plan, n: Array, part: slice) -> None:
    """Reject a plan whose samples, some of them, differ from the gaits that were read."""
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
CORRECTION = 0.4  # maximum correction, as a fraction of the planned change and of the speed


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
    opaque = 'pursuit: the swing that comes next is planned from where the sphere is'

    def __init__(
        self,
        plan: GaitSequence,
        *,
        limits: GaitLimits | None = None,
        gains: LeanGains | None = None,
    ) -> None:
        """
        Take a plan.

        Parameters
        ----------
        plan
            Made for the sphere as it is believed to be.
        limits
            Of contact and drive, for the corrected swings.
        gains
            Gains.

        """
        self.inputs, self.output = INPUTS, CONTROL
        self.plan = plan
        self._limits = limits or GaitLimits(friction=FRICTION * plan.params.mu)
        torque = self._limits.torque
        self._loop = ReferenceLoop(plan.params, plan.start, gains=gains, torque=torque)

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
        """Return the swing nearest to the wanted one within the limits, on this slope."""
        for fraction in (1.0, 0.8, 0.6, 0.4):
            trial = step.swing.velocity_change * (1 - fraction) + change * fraction
            try:
                return swing_for(floor, trial, step.swing.period, self._limits)
            except ParameterError:
                continue
        return step.swing


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
    opaque = 'pursuit: the swing that comes next is planned from where the sphere is'

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
        Start at rest.

        Parameters
        ----------
        params
            Parameters of the sphere, as assumed.
        position
            Contact point [m].
        limits
            Limits of contact and drive.
        period
            Duration of a swing [s]; five of the paper's units of time if None.
        deadband
            Velocity error below which no swing starts [m/s].
        gains
            Gains of the velocity feedback between swings.

        """
        limits = limits or GaitLimits()
        self._limits = less(limits, RESERVE, params)
        self.swing_period = 5 * scales_of(params).time if period is None else period
        self.greatest_change = greatest_change(params, self.swing_period, self._limits)
        if not self.greatest_change > 0:
            raise ParameterError(
                f'no swing of {self.swing_period:.4g} s is possible within the limits; take a '
                'longer period, more torque or more friction'
            )
        check_positive('deadband', deadband, 'm/s')
        self._deadband = deadband
        self.inputs, self.output = Layout((*INPUTS.entries, VELOCITY_W)), CONTROL
        self._loop = ReferenceLoop(params, position, gains=gains, torque=limits.torque)

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
        """Start a swing; return the velocity after it."""
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
