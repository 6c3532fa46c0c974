"""
Shortest pure rolling of a sphere on a plane: extremals of the plate-ball problem by shooting.

Lengths are in units of the radius. An extremal has unit speed and a heading theta with
theta'' = -A sin(theta - theta_p): the contact traces an elastica (Jurdjevic, 1993). The five
unknowns (a, b, theta_0, kappa_0, L), with (a, b) = A (cos theta_p, sin theta_p), meet the five
numbers of a goal: displacement and rotation, seen from the start.
"""

from __future__ import annotations

from functools import cache
import math
from typing import NamedTuple, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.rotations import product, rate_space
from rolling_dynamics.simulation.runge_kutta import step_of_order_4

Array: TypeAlias = NDArray[np.float64]
STEPS = 40  # of the shooting
BATCH = 40  # extremals that are shot at once
ITERATIONS = 25
CONVERGED = 1e-8
HIT = 2e-5  # where a family of extremals ends at the goal, the steps leave a gap of this order
CALM = 0.7  # share of starts that bend little, as the shortest extremals do
MORE = 12.0  # by which an extremal that is of interest is longer than the least length
SAME = 1e-5  # difference of the lengths of one and the same extremal
LARGEST_STEP = 1.0  # of an unknown in one iteration
STUCK = 1e9  # damping with which a shot does not come nearer any more


class Extremal(NamedTuple):
    """Unknowns of an extremal; length in units of the radius."""

    a: float
    b: float
    heading: float
    curvature: float
    length: float


def heading_rates(z: ca.SX, heading: ca.SX, curvature: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Return d(theta, theta')/ds of the elastica."""
    return curvature, -(z[0] * ca.sin(heading) - z[1] * ca.cos(heading))


def _rates(z: ca.SX, y: ca.SX) -> ca.SX:
    """Return d(theta, kappa, x, y, q)/ds, s from 0 to 1."""
    turn, bend = heading_rates(z, y[0], y[1])
    c, s = ca.cos(y[0]), ca.sin(y[0])
    return z[4] * ca.vertcat(turn, bend, c, s, rate_space(y[4:8], ca.vertcat(-s, c, 0)))


@cache
def shooting_function() -> ca.Function:
    """
    Return ``(z, target) -> (miss, Jacobian)`` for ``BATCH`` columns; target (x, y, q).

    The output has 5 rows of misses, then 25 of the Jacobian, column after column.
    """
    z, y, target = ca.SX.sym('z', 5), ca.SX.sym('y', 8), ca.SX.sym('target', 6)
    _, after = step_of_order_4(lambda at, _: _rates(z, at), y, 1.0 / STEPS)
    sensitivity = ca.SX.sym('S', 8, 5)
    moved = ca.jacobian(after, y) @ sensitivity + ca.jacobian(after, z)
    step = ca.Function(
        'step', [ca.vertcat(y, ca.vec(sensitivity)), z], [ca.vertcat(after, ca.vec(moved))]
    )
    Z, T = ca.MX.sym('z', 5), ca.MX.sym('target', 6)
    y0 = ca.vertcat(Z[2], Z[3], 0, 0, 1, 0, 0, 0)
    S0 = np.zeros((8, 5))
    S0[0, 2] = S0[1, 3] = 1.0
    end = step.mapaccum('steps', STEPS)(ca.vertcat(y0, ca.vec(ca.DM(S0))), ca.repmat(Z, 1, STEPS))[
        :, -1
    ]
    apart = product(ca.vertcat(target[2], -target[3:6]), y[4:8])
    side = ca.if_else(apart[0] < 0, -2.0, 2.0)
    miss = ca.vertcat(y[2] - target[0], y[3] - target[1], side * apart[1:4])
    judge = ca.Function('judge', [y, target], [miss, ca.jacobian(miss, y)])
    value, slope = judge(end[:8], T)
    slope = ca.vec(slope @ ca.reshape(end[8:], 8, 5))
    single = ca.Function('elastica', [Z, T], [ca.densify(ca.vertcat(value, slope))])
    return compiled(single.map(BATCH))[0]


def target_of(displacement: Array, quaternion: Array) -> Array:
    """Return the target (x, y, q) of a displacement [radius] and a rotation w, x, y, z."""
    out: Array = np.r_[displacement, quaternion].astype(float)
    return out


def guesses(rng: np.random.Generator, count: int, least: float) -> Array:
    """
    Return random unknowns, shape (5, count), lengths in units of the radius.

    ``least`` is a length that is surely needed.
    """
    calm = rng.random(count) < CALM
    strength = rng.uniform(0, 1, count) * np.where(calm, 1.2, 4.0)
    direction = rng.uniform(-np.pi, np.pi, count)
    return np.array(
        [
            strength * np.cos(direction),
            strength * np.sin(direction),
            rng.uniform(-np.pi, np.pi, count),
            rng.uniform(-1, 1, count) * np.where(calm, 1.2, 3.0),
            least + rng.uniform(0.3, 4.0, count),
        ]
    )


def shoot(target: Array, start: Array) -> tuple[Array, NDArray[np.bool_]]:
    """
    Return extremals to a target by a damped Newton method from many starts at once.

    Parameters
    ----------
    target
        Shape (6,), of :func:`target_of`.
    start
        Unknowns, shape (5, n).

    Returns
    -------
    NDArray
        Unknowns, shape (5, n).
    NDArray
        Which of them hit the target, shape (n,).

    """
    shooting = _Shooting(target)
    longest = max(math.hypot(target[0], target[1]), math.pi) + MORE
    z = start.T.copy()
    value, slope = shooting(z)
    size = np.sum(value**2, axis=1)
    damping = np.full(len(z), 1e-2)
    for _ in range(ITERATIONS):
        on = np.flatnonzero((size >= CONVERGED**2) & np.isfinite(size) & (damping < STUCK))
        if not on.size:
            break
        trial = z[on] - _damped_step(value[on], slope[on], damping[on])
        trial[:, 4] = np.clip(trial[:, 4], 1e-3, longest)
        new_value, new_slope = shooting(trial)
        new_size = np.sum(new_value**2, axis=1)
        better = new_size < size[on]
        damping[on] = np.where(better, np.maximum(damping[on] * 0.1, 1e-14), damping[on] * 10)
        at = on[better]
        z[at], value[at], slope[at] = trial[better], new_value[better], new_slope[better]
        size[at] = new_size[better]
    return z.T, size < HIT**2


def _damped_step(value: Array, slope: Array, damping: Array) -> Array:
    """Return Newton steps of the least squares, damped and at most ``LARGEST_STEP`` long."""
    turned = slope.transpose(0, 2, 1)
    normal = turned @ slope + damping[:, None, None] * np.eye(5)
    step = np.linalg.solve(normal, turned @ value[:, :, None])[:, :, 0]
    greatest = np.maximum(np.abs(step).max(axis=1), 1e-300)
    out: Array = step * np.minimum(1.0, LARGEST_STEP / greatest)[:, None]
    return out


class _Shooting:
    """Misses and their Jacobians for any number of unknowns, taken in batches."""

    def __init__(self, target: Array) -> None:
        self._function = FastFunction(shooting_function())
        self._function.inputs[1][:] = np.tile(target, BATCH)

    def __call__(self, z: Array) -> tuple[Array, Array]:
        """Return misses, shape (n, 5), and Jacobians, shape (n, 5, 5)."""
        out = np.empty((len(z), 30))
        for k in range(0, len(z), BATCH):
            part = z[k : k + BATCH]
            self._function.inputs[0][: part.size] = part.ravel()
            out[k : k + BATCH] = self._function.evaluate().reshape(BATCH, 30)[: len(part)]
        return out[:, :5], out[:, 5:].reshape(-1, 5, 5).transpose(0, 2, 1)


def extremals_by_length(
    displacement: Array, quaternion: Array, *, shots: int, seed: int = 0
) -> list[Extremal]:
    """
    Return the extremals that seeded shootings find, each once, the shortest first.

    Parameters
    ----------
    displacement
        Of the contact on the plane, shape (2,) [radius].
    quaternion
        Rotation of the sphere in S, w, x, y, z.
    shots
        How many.
    seed
        Of the starts.

    """
    target = target_of(displacement, quaternion)
    least = max(float(np.hypot(*target[:2])), tilt(quaternion))
    found, hit = shoot(target, guesses(np.random.default_rng(seed), shots, least))
    out: list[Extremal] = []
    for k in sorted(np.flatnonzero(hit), key=lambda k: found[4, k]):
        if not out or found[4, k] - out[-1].length > SAME:
            out.append(Extremal(*(float(v) for v in found[:, k])))
    return out


def tilt(quaternion: Array) -> float:
    """Return the angle by which a quaternion tilts the plane's normal, the least roll [rad]."""
    w, x, y, z = quaternion
    return 2 * float(np.arctan2(np.hypot(x, y), np.hypot(w, z)))
