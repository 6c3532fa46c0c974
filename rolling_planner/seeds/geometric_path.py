"""
Geometric plans for a ball on a plane: straight rolls, for comparison.

A straight roll by d turns the ball by |d| / R about the horizontal axis across d. Two plans:

- *whole turns*, in closed form, after J. M. Hammersley's problem of the rolling sphere (Oxford
  commemoration ball, 1983): first rolls that give the attitude, then two rolls of one whole turn
  each, which move the ball and leave its attitude;
- *triangle*: straight to the goal position, then round the shortest triangle found whose rolling
  holonomy is the rotation that is still missing.

Such plans exist for a ball on a plane only and know neither time nor dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_planner.progress import NotConvergedError
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat, qconjugate, qmult, quat2mat

STARTS, STEPS = 60, 40
CLOSE = 1e-10  # rad


@dataclass(frozen=True, eq=False)
class GeometricPath:
    """
    A path of straight rolls.

    Attributes
    ----------
    corners
        Places of the contact on the plane [m], shape (k, 2), from start to goal.
    q_HO
        Attitude of the ball at the end, unit quaternion w x y z.

    """

    corners: Array
    q_HO: Array

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        return float(np.linalg.norm(np.diff(self.corners, axis=0), axis=1).sum())


def roll_straight(step: ArrayLike, radius: float) -> Array:
    """Return the rotation matrix of a straight roll by a step (x, y) [m]."""
    d = np.asarray(step, dtype=float)
    length = float(np.linalg.norm(d))
    if length < 1e-15:
        return np.eye(3)
    # the top of the ball goes ahead: axis z x d
    return np.asarray(axangle2mat([-d[1], d[0], 0.0], length / radius))


def whole_turns_path(
    radius: float, start: ArrayLike, goal: ArrayLike, q_start: ArrayLike, q_goal: ArrayLike
) -> GeometricPath:
    """
    Return the plan in closed form: attitude first, then position by whole turns.

    Parameters
    ----------
    radius
        Of the ball [m].
    start, goal
        Contact point on the plane [m], 2 numbers each, at most two whole turns apart after the
        rolls that give the attitude.
    q_start, q_goal
        Attitudes of the ball in the frame of the plane, unit quaternions w x y z.

    Raises
    ------
    ParameterError
        The radius is not positive, or the goal is too far.

    """
    first, last, q, wanted = _checked(radius, start, goal, q_start, q_goal)
    R = quat2mat(qmult(wanted, qconjugate(q)))
    # one roll takes the vertical to where the rotation takes it ...
    tilt = np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    across = np.arctan2(R[1, 2], R[0, 2]) if np.sin(tilt) > 1e-12 else 0.0
    steps = [radius * float(tilt) * np.array([np.cos(across), np.sin(across)])]
    # ... and a spin is left before it: two half turns whose axes are half its angle apart
    spin = roll_straight(steps[0], radius).T @ R
    angle = float(np.arctan2(spin[1, 0], spin[0, 0]))
    if abs(angle) > 1e-12:
        half = np.pi * radius
        steps = [
            half * np.array([1.0, 0.0]),
            half * np.array([np.cos(angle / 2), np.sin(angle / 2)]),
            *steps,
        ]
    left = last - first - np.sum(steps, axis=0)
    distance, leg = float(np.linalg.norm(left)), 2 * np.pi * radius
    if distance > 2 * leg:
        raise ParameterError(
            f'goal is {distance:.3g} m away after the attitude is reached; two whole turns go '
            f'{2 * leg:.3g} m'
        )
    if distance > 1e-12:
        along = left / distance
        height = np.sqrt(leg**2 - distance**2 / 4) * np.array([-along[1], along[0]])
        steps += [left / 2 + height, left / 2 - height]
    return _path(radius, first, steps, q)


def triangle_path(
    radius: float, start: ArrayLike, goal: ArrayLike, q_start: ArrayLike, q_goal: ArrayLike
) -> GeometricPath:
    """
    Return the plan of a straight roll and the shortest triangle that was found.

    Parameters
    ----------
    radius, start, goal, q_start, q_goal
        As for :func:`whole_turns_path`, without limit of distance.

    Raises
    ------
    ParameterError
        The radius is not positive.
    NotConvergedError
        No triangle was found.

    """
    first, last, q, wanted = _checked(radius, start, goal, q_start, q_goal)
    there = qmult(mat2quat(roll_straight(last - first, radius)), q)
    sides = _triangle(qmult(wanted, qconjugate(there)), radius)
    return _path(radius, first, [last - first, *sides], q)


def _checked(
    radius: float, start: ArrayLike, goal: ArrayLike, q_start: ArrayLike, q_goal: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    if not (np.isfinite(radius) and radius > 0):
        raise ParameterError(f'radius must be positive and finite [m], got {radius!r}')
    first, last, q, wanted = (np.asarray(a, dtype=float) for a in (start, goal, q_start, q_goal))
    return first, last, q, wanted


def _path(radius: float, first: Array, steps: list[Array], q: Array) -> GeometricPath:
    """Roll along the steps, leaving out steps of no length."""
    corners = [first]
    for step in steps:
        if np.linalg.norm(step) > 1e-12:
            q = qmult(mat2quat(roll_straight(step, radius)), q)
            corners.append(corners[-1] + step)
    return GeometricPath(np.array(corners), np.asarray(q))


def _triangle(rotation: Array, radius: float) -> Array:
    """Return the three sides, shape (3, 2), of the shortest triangle with this holonomy."""
    if np.linalg.norm(rotation_vector(rotation)) < CLOSE:
        return np.zeros((0, 2))
    rng = np.random.default_rng(0)
    best: tuple[float, Array] | None = None
    for _ in range(STARTS):
        found = _newton(rng.normal(size=4) * radius * rng.uniform(0.5, 3.0), rotation, radius)
        if found is None:
            continue
        length = float(np.linalg.norm(_sides(found), axis=1).sum())
        if best is None or length < best[0]:
            best = length, found
    if best is None:
        raise NotConvergedError('geometric path: no triangle has the wanted holonomy')
    return _sides(best[1])


def _sides(c: Array) -> Array:
    return np.array([c[:2], c[2:], -c[:2] - c[2:]])


def _miss(c: Array, rotation: Array, radius: float) -> Array:
    a, b, d = (roll_straight(side, radius) for side in _sides(c))
    return rotation_vector(qmult(qconjugate(rotation), mat2quat(d @ b @ a)))


def _newton(c: Array, rotation: Array, radius: float) -> Array | None:
    """Return two sides that give the rotation, by Newton steps of least norm."""
    step = 1e-6 * radius
    for _ in range(STEPS):
        r = _miss(c, rotation, radius)
        if np.linalg.norm(r) < CLOSE:
            return c
        J = np.column_stack(
            [(_miss(c + step * e, rotation, radius) - r) / step for e in np.eye(4)]
        )
        change = np.linalg.lstsq(J, -r, rcond=1e-8)[0]
        c = c + change * min(1.0, radius / max(float(np.linalg.norm(change)), 1e-300))
    return None
