"""
An extremal of pure rolling as a plan: from rest to rest, controls linear between nodes, exact.

The heading at the nodes is that of the elastica. Its five unknowns, and the amplitudes of four
waves of the heading, are corrected by Newton's method, by as little as possible, until the motion
under the controls between the nodes, not only the elastica, ends at the goal.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rolling_planner.spin_rolling.bounds import InputBounds
from rolling_planner.spin_rolling.elastica import Extremal, target_of
from rolling_planner.spin_rolling.extremal_end import extremal_functions, node_rates, WAVES
from rolling_planner.spin_rolling.motion import Contact
from rolling_planner.spin_rolling.timing import propagated, RAMP, TimedMotion
from transforms3d.quaternions import mat2quat

Array: TypeAlias = NDArray[np.float64]
CORRECTIONS = 8
REACHED = 1e-10
NUDGE = 1e-6  # of the unknowns, for differences
SLOW = 0.01  # a correction that leaves more of the miss takes new differences


def timed_extremal(
    extremal: Extremal,
    radius: float,
    start: Contact,
    goal: Contact,
    bounds: InputBounds,
    waves: Array | None = None,
) -> tuple[TimedMotion, Extremal] | None:
    """
    Return an extremal over time and its corrected unknowns; None if it cannot be corrected.

    Parameters
    ----------
    extremal
        Of :func:`extremals_by_length`, to some digits.
    radius
        Radius [m].
    start, goal
        Contacts and attitudes.
    bounds
        Bounds of the inputs.
    waves
        Amplitudes [rad] with which the correction starts: bends the path around something.

    """
    z = np.r_[np.array(extremal), np.zeros(WAVES) if waves is None else waves]
    corrected = _corrected(z, _target(start, goal, radius))
    if corrected is None:
        return None
    z = corrected
    t, w = _controls(z)
    duration = float(z[4]) * radius / bounds.delta / (1 - RAMP)
    motion = propagated(radius, start, t * duration, w / duration)
    return motion, Extremal(*(float(v) for v in z[:5]))


def _target(start: Contact, goal: Contact, radius: float) -> Array:
    """Return displacement [radius] and rotation of the sphere that lead to a goal."""
    turn = mat2quat(np.array(goal.R_SO) @ np.array(start.R_SO).T)
    moved = np.array([goal.u_s - start.u_s, goal.v_s - start.v_s]) / radius
    return target_of(moved, turn)


def _corrected(z: Array, target: Array) -> Array | None:
    """Correct unknowns by as little as possible until their motion ends at the target."""
    function, slope, before = extremal_functions()[1], None, math.inf

    def missed(columns: Array) -> Array:
        return np.array(function(columns, target))

    for _ in range(CORRECTIONS):
        miss = missed(z)[:, 0]
        size = float(np.max(np.abs(miss)))
        if size < REACHED:
            return z
        if slope is None or size > SLOW * before:
            columns = z[:, None] + NUDGE * np.eye(z.size)
            slope = (missed(columns) - miss[:, None]) / NUDGE
        z, before = z - np.linalg.lstsq(slope, miss, rcond=None)[0], size
        if not (np.all(np.isfinite(z)) and z[4] > 0):
            return None
    return None


def _controls(z: Array) -> tuple[Array, Array]:
    """Return node times from 0 to 1 and angular velocities, shape (nodes, 3)."""
    t, rate = node_rates()
    heading = np.array(extremal_functions()[0](z)).ravel()
    speed = rate * z[4]
    return t, np.column_stack([-np.sin(heading) * speed, np.cos(heading) * speed, 0 * speed])
