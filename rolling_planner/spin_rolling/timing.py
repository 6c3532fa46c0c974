"""
Motions over time, from rest to rest: controls that are linear between nodes, and exact states.

The control is the angular velocity w_SO_S; the rolling rate delta rises and falls along a
trapezoid. Between two nodes the attitude follows by Magnus' series, of fourth order in steps so
short that its error is below 1e-11.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rolling_planner.spin_rolling.bounds import check_spins, InputBounds, seconds_per_turn
from rolling_planner.spin_rolling.motion import Contact, Motion
from scipy.spatial.transform import Rotation

Array: TypeAlias = NDArray[np.float64]
RAMP = 0.25  # share of a turn's time in which its rate rises, and falls
INSIDE = 9  # nodes of a turn
SHORT = 0.008  # turn of one step of Magnus' series [rad]


class TimedMotion(NamedTuple):
    """Nodes: times (N,) [s], controls (N, 3), contacts (N, 2) [m], attitudes (N, 3, 3)."""

    times: Array
    controls: Array
    contacts: Array
    attitudes: Array


def trapezoid(t: Array) -> Array:
    """
    Return the rate at times from 0 to 1 of a turn that goes from 0 to 1 and rests at both.

    Times are shares of the whole; the rate has their shape.
    """
    return np.clip(np.minimum(t, 1 - t) / RAMP, 0, 1) / (1 - RAMP)


def trapezoid_nodes(count: int) -> Array:
    """Return times as shares from 0 to 1, corners of the trapezoid among them, shape (count,)."""
    t = np.linspace(0, 1, count)
    for corner in (RAMP, 1 - RAMP):
        t[np.argmin(np.abs(t - corner))] = corner
    return t


def timed(motion: Motion, bounds: InputBounds) -> TimedMotion:
    """Return a motion over time, at rest before and after each of its turns."""
    check_spins(motion, bounds)
    inside = trapezoid_nodes(INSIDE)
    times, controls = [0.0], [np.zeros(3)]
    for w in motion.turns:
        duration = seconds_per_turn(w, motion.radius, bounds) / (1 - RAMP)
        rates = trapezoid(inside)[1:, None] * np.array(w) / duration
        times += list(times[-1] + inside[1:] * duration)
        controls += list(rates)
    if len(times) == 1:  # nothing to do: rest for a moment
        times, controls = [0.0, 0.1], [np.zeros(3)] * 2
    return propagated(motion.radius, motion.start, np.array(times), np.array(controls))


def propagated(radius: float, start: Contact, times: Array, controls: Array) -> TimedMotion:
    """Return contacts and attitudes for controls that are linear between their times."""
    h = np.diff(times)[:, None]
    middle = (controls[1:] + controls[:-1]) / 2
    step = radius * h * np.column_stack([middle[:, 1], -middle[:, 0]])
    first = np.array([[start.u_s, start.v_s]])
    contacts = np.vstack([first, first + np.cumsum(step, axis=0)])
    turns = np.linalg.norm(middle * h, axis=1)
    parts = max(1, int(np.ceil(float(np.max(turns)) / SHORT)))
    steps = _interval_rotations(controls, h, parts)
    attitudes = np.empty((len(times), 3, 3))
    attitudes[0] = np.array(start.R_SO)
    for k, matrix in enumerate(steps):
        attitudes[k + 1] = matrix @ attitudes[k]
    return TimedMotion(times, controls, contacts, attitudes)


def _interval_rotations(controls: Array, h: Array, parts: int) -> Array:
    """Return the rotation over each interval, shape (N - 1, 3, 3)."""
    t = np.linspace(0, 1, parts + 1)
    slope = controls[1:] - controls[:-1]
    w = controls[:-1, None, :] + t[None, :, None] * slope[:, None, :]  # (N - 1, parts + 1, 3)
    first, last = w[:, :-1], w[:, 1:]
    dt = (h / parts)[:, :, None]
    omega = dt * (first + last) / 2 - dt**2 / 12 * np.cross(first, last)
    matrices = Rotation.from_rotvec(omega.reshape(-1, 3)).as_matrix().reshape(*omega.shape, 3)
    out: Array = matrices[:, 0]
    for k in range(1, parts):
        out = matrices[:, k] @ out
    return out
