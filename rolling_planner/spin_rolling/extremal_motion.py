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
from rolling_planner.spin_rolling.elastica import Extremal
from rolling_planner.spin_rolling.motion import Contact
from rolling_planner.spin_rolling.timing import (
    propagated,
    RAMP,
    rotations,
    TimedMotion,
    trapezoid,
    trapezoid_nodes,
)

Array: TypeAlias = NDArray[np.float64]
NODES = 201
WAVES = 4
CORRECTIONS = 8
REACHED = 1e-10
NUDGE = 1e-6  # of the unknowns, for differences


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
    target = np.array(goal.R_SO) @ np.array(start.R_SO).T
    wanted = np.array([goal.u_s - start.u_s, goal.v_s - start.v_s]) / radius
    for _ in range(CORRECTIONS):
        columns = np.column_stack([z, *(z + NUDGE * e for e in np.eye(z.size))])
        misses = _misses(columns, wanted, target)
        if np.max(np.abs(misses[:, 0])) < REACHED:
            break
        slope = (misses[:, 1:] - misses[:, :1]) / NUDGE
        z = z - np.linalg.lstsq(slope, misses[:, 0], rcond=None)[0]
        if not (np.all(np.isfinite(z)) and z[4] > 0):
            return None
    else:
        if np.max(np.abs(_misses(z[:, None], wanted, target))) > REACHED:
            return None
    t, w = _controls(z[:, None])
    duration = float(z[4]) * radius / bounds.delta / (1 - RAMP)
    motion = propagated(radius, start, t * duration, w[:, :, 0] / duration)
    return motion, Extremal(*(float(v) for v in z[:5]))


def _controls(z: Array) -> tuple[Array, Array]:
    """Return node times from 0 to 1 and angular velocities, shape (nodes, 3, columns)."""
    t = trapezoid_nodes(NODES)
    rate = trapezoid(t)
    s = np.r_[0.0, np.cumsum((rate[1:] + rate[:-1]) / 2 * np.diff(t))]
    waves = [f(np.pi * k * s) for k in (2, 4) for f in (np.sin, np.cos)]
    heading = _headings(z, s) + np.column_stack(waves) @ z[5:]
    speed = rate[:, None] * z[4]
    return t, np.stack(
        [-np.sin(heading) * speed, np.cos(heading) * speed, np.zeros_like(speed)], axis=1
    )


def _headings(z: Array, s: Array) -> Array:
    """Return the heading at shares s of the length, one Runge-Kutta step between two nodes."""

    def rates(y: Array) -> Array:
        bend = -(z[0] * np.sin(y[0]) - z[1] * np.cos(y[0]))
        return np.array([z[4] * y[1], z[4] * bend])

    y = np.array([z[2], z[3]])
    out = [y[0]]
    for h in np.diff(s):
        k1 = rates(y)
        k2 = rates(y + h / 2 * k1)
        k3 = rates(y + h / 2 * k2)
        k4 = rates(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(y[0])
    return np.array(out)


def _misses(z: Array, wanted: Array, target: Array) -> Array:
    """Return by how much columns of unknowns miss the goal, shape (5, columns)."""
    t, w = _controls(z)
    h = np.diff(t)[:, None, None]
    middle = np.sum((w[1:] + w[:-1]) / 2 * h, axis=0)
    out = np.empty((5, z.shape[1]))
    out[:2] = np.array([middle[1], -middle[0]]) - wanted[:, None]
    for c in range(z.shape[1]):
        R = _end_rotation(t, w[:, :, c], 2 + math.ceil(z[4, c]))
        D = R @ target.T
        out[2:, c] = 0.5 * np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1]])
    return out


def _end_rotation(t: Array, w: Array, parts: int) -> Array:
    """Return the rotation under controls linear between nodes; products taken in pairs."""
    fine = (t[:-1, None] + np.linspace(0, 1, parts, endpoint=False) * np.diff(t)[:, None]).ravel()
    fine = np.r_[fine, t[-1]]
    v = np.column_stack([np.interp(fine, t, w[:, k]) for k in range(3)])
    dt = np.diff(fine)[:, None]
    R = rotations(dt * (v[1:] + v[:-1]) / 2 - dt**2 / 12 * np.cross(v[:-1], v[1:]))
    while len(R) > 1:
        if len(R) % 2:
            R = np.concatenate([R, np.eye(3)[None]])
        R = R[1::2] @ R[::2]
    out: Array = R[0]
    return out
