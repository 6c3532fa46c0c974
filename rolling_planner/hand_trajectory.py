"""
A smooth motion of the hand through given poses.

Between two samples each coordinate is a polynomial: of degree 5 if velocities and accelerations
are given, of degree 3 if only velocities are given, else a cubic spline through all samples.
Attitudes are interpolated in the rotation vector from the previous sample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

UNIT = 1e-3  # maximum difference of the norm of a quaternion from 1


@dataclass(frozen=True, eq=False)
class HandTrajectory:
    """
    A motion of the hand.

    Attributes
    ----------
    times
        Times of the samples [s], shape (k,).
    start
        Entries of the hand in the state at the first sample, by name.
    controls
        ``times (N,) -> (alpha_WH_H, a_WH_H)``, shape (N, 6).

    """

    times: Array
    start: dict[str, Array]
    controls: Callable[[Array], Array]


def hand_trajectory(
    times: ArrayLike,
    q_WH: ArrayLike,
    p_WH: ArrayLike,
    *,
    w_WH_H: ArrayLike | None = None,
    v_WH_H: ArrayLike | None = None,
    alpha_WH_H: ArrayLike | None = None,
    a_WH_H: ArrayLike | None = None,
) -> HandTrajectory:
    """
    Return the motion through samples.

    Parameters
    ----------
    times
        Increasing times [s], shape (k,), two or more.
    q_WH, p_WH
        Attitudes, unit quaternions w x y z, shape (k, 4), and origins [m], shape (k, 3).
    w_WH_H, v_WH_H
        Velocities of the hand, in the hand [rad/s], [m/s], shape (k, 3); both or none.
    alpha_WH_H, a_WH_H
        Accelerations, in the hand [rad/s^2], [m/s^2] (true acceleration of the origin), shape
        (k, 3); both or none, and only together with velocities.

    Raises
    ------
    ParameterError
        A shape is wrong, a value is not finite, times do not increase, or a quaternion does not
        have norm 1.

    """
    t = np.asarray(times, dtype=float).reshape(-1)
    k = t.size
    if k < 2:
        raise ParameterError(f'hand trajectory: two or more times are needed, got {k}')
    if not (np.all(np.isfinite(t)) and np.all(np.diff(t) > 0)):
        raise ParameterError('hand trajectory: times must be finite and increase')
    q, p = _samples('q_WH', q_WH, (k, 4)), _samples('p_WH', p_WH, (k, 3))
    norms = np.linalg.norm(q, axis=1)
    if not np.all(np.abs(norms - 1) < UNIT):
        worst = norms[np.argmax(np.abs(norms - 1))]
        raise ParameterError(
            'hand trajectory: q_WH must be unit quaternions (w, x, y, z), one has norm '
            f'{worst:.6g}'
        )
    q = q / norms[:, None]
    velocities = _pair(k, w_WH_H=w_WH_H, v_WH_H=v_WH_H)
    accelerations = _pair(k, alpha_WH_H=alpha_WH_H, a_WH_H=a_WH_H)
    if accelerations is not None and velocities is None:
        raise ParameterError('hand trajectory: accelerations need velocities as well')
    if velocities is None:
        velocities, accelerations = _of_splines(t, q, p)
    return _hermite(t, q, p, velocities, accelerations)


def _samples(name: str, values: ArrayLike, shape: tuple[int, int]) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != shape:
        raise ParameterError(
            f'hand trajectory: {name} takes numbers of shape {shape}, got {array.shape}'
        )
    if not np.all(np.isfinite(array)):
        raise ParameterError(f'hand trajectory: {name} must be finite')
    return array


def _pair(k: int, **given: ArrayLike | None) -> tuple[Array, Array] | None:
    missing = [name for name, values in given.items() if values is None]
    if len(missing) == len(given):
        return None
    if missing:
        raise ParameterError(f'hand trajectory: {missing[0]} is needed with {list(given)}')
    first, second = (_samples(n, v, (k, 3)) for n, v in given.items() if v is not None)
    return first, second


def _of_splines(t: Array, q: Array, p: Array) -> list[tuple[Array, Array]]:
    """Return velocities and accelerations at the samples of the cubic splines through them."""
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (rarely needed, slow to import)
    from scipy.spatial.transform import Rotation, RotationSpline  # noqa: PLC0415

    R = Rotation.from_quat(q[:, [1, 2, 3, 0]])
    turn, slide = RotationSpline(t, R), CubicSpline(t, p)
    return [(turn(t, order), R.inv().apply(slide(t, order))) for order in (1, 2)]


def _hermite(
    t: Array,
    q: Array,
    p: Array,
    velocities: tuple[Array, Array],
    accelerations: tuple[Array, Array] | None,
) -> HandTrajectory:
    from scipy.spatial.transform import Rotation  # noqa: PLC0415

    w, v = velocities
    R = Rotation.from_quat(q[:, [1, 2, 3, 0]])
    r = (R[:-1].inv() * R[1:]).as_rotvec()
    J = right_jacobian(r)
    rate = _solve(J, w[1:])
    turn_ends = [(np.zeros_like(r), r), (w[:-1], rate)]
    slide_ends = [(p[:-1], p[1:]), _ends(R.apply(v))]
    if accelerations is not None:
        alpha, a = accelerations
        # w = J(r) r', so alpha = J r'' + (dJ/dt) r', and J = 1, dJ/dt r' = 0 at r = 0
        bend = _solve(J, alpha[1:] - _times(_jacobian_rate(r, rate), rate))
        turn_ends.append((alpha[:-1], bend))
        slide_ends.append(_ends(R.apply(a)))
    turn, slide = _polynomials(t, turn_ends), _polynomials(t, slide_ends)

    def controls(s: Array) -> Array:
        s = np.clip(s, t[0], t[-1])
        k = np.clip(np.searchsorted(t, s, side='right') - 1, 0, t.size - 2)
        r, rate, bend = (turn(s, order) for order in range(3))
        alpha = _times(right_jacobian(r), bend) + _times(_jacobian_rate(r, rate), rate)
        R_WH = R[k] * Rotation.from_rotvec(r)
        return np.hstack([alpha, R_WH.inv().apply(slide(s, 2))])

    start = {'q_WH': q[0], 'p_WH': p[0], 'w_WH_H': w[0], 'v_WH_H': v[0]}
    return HandTrajectory(t, start, controls)


def _ends(values: Array) -> tuple[Array, Array]:
    return values[:-1], values[1:]


def _polynomials(t: Array, ends: list[tuple[Array, Array]]) -> PPoly:
    """Return polynomials that meet n derivatives, shape (k - 1, 3), at both ends of each piece."""
    from scipy.interpolate import PPoly  # noqa: PLC0415

    n, h = len(ends), np.diff(t)[:, None]
    rows = [row[: 2 * n] for s in (0.0, 1.0) for row in powers(s)[:n]]
    values = [ends[order][side] * h**order for side in (0, 1) for order in range(n)]
    unit = np.einsum('ij,jkc->ikc', np.linalg.inv(np.array(rows)), np.array(values))
    coefficients = [unit[power] / h**power for power in reversed(range(2 * n))]
    return PPoly(np.array(coefficients), t)


def powers(s: float) -> tuple[Array, Array, Array]:
    """Return the powers 0 to 5 of a time [s], shape (6,), and their first two derivatives."""
    k = np.arange(6.0)
    rate = np.where(k > 0, k * s ** np.maximum(k - 1, 0), 0.0)
    return s**k, rate, np.where(k > 1, k * (k - 1) * s ** np.maximum(k - 2, 0), 0.0)


def _times(A: Array, b: Array) -> Array:
    return np.asarray(np.einsum('...ij,...j->...i', A, b))


def _solve(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.solve(A, b[..., None])[..., 0])


def right_jacobian(r: Array) -> Array:
    """
    Return J, shape (..., 3, 3), with w = J(r) dr/dt.

    w is the angular velocity of exp(r), r a rotation vector [rad].
    """
    s, K = np.sum(r * r, axis=-1)[..., None, None], _cross(r)
    small = s < 1e-8
    s = np.where(small, 1.0, s)
    n = np.sqrt(s)
    first = np.where(small, 0.5, (1 - np.cos(n)) / s)
    second = np.where(small, 1 / 6, (n - np.sin(n)) / (s * n))
    return np.asarray(np.eye(3) - first * K + second * (K @ K))


def _jacobian_rate(r: Array, rate: Array) -> Array:
    """Return dJ/dt by a central difference along the motion."""
    step = 1e-5
    return (right_jacobian(r + step * rate) - right_jacobian(r - step * rate)) / (2 * step)


def _cross(v: Array) -> Array:
    K = np.zeros((*v.shape, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    return np.asarray(K - np.swapaxes(K, -1, -2))
