"""A sequence of gaits from the states of a plan, as it comes in a message."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import CancelledError, ParameterError
from rolling_dynamics.pendulum_sphere import SphereParameters
from rolling_dynamics.pendulum_sphere.spatial_swing import swing_for
from rolling_dynamics.pendulum_sphere.system import resting_direction, STATE
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
