"""
A smooth motion of the hand through given poses.

Between two samples each coordinate is a polynomial: of degree 5 where velocities and accelerations
are given, of degree 3 where velocities are, else a cubic spline through all samples. Attitudes are
interpolated in the rotation vector from the sample before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.quaternions import rotation_vector
from rolling_planner.arrays import Array
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import qconjugate, qmult, quat2mat

UNIT = 1e-3  # by how much the norm of a quaternion may differ from 1


@dataclass(frozen=True, eq=False)
class HandTrajectory:
    """
    A motion of the hand.

    Attributes
    ----------
    times
        Of the samples [s], shape (k,).
    start
        Entries of the hand in the state at the first sample, by name.
    control
        ``t -> (alpha_WH_H, a_WH_H)``, 6 numbers.

    """

    times: Array
    start: dict[str, Array]
    control: Callable[[float], Array]


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
        Increasing [s], shape (k,), two or more.
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
        A shape is wrong, a number not finite, or times do not increase.

    """
    t = np.asarray(times, dtype=float).reshape(-1)
    k = t.size
    if k < 2 or not np.all(np.isfinite(t)) or not np.all(np.diff(t) > 0):
        raise ParameterError(f'hand trajectory: two or more increasing times are needed, got {k}')
    q, p = _samples('q_WH', q_WH, (k, 4)), _samples('p_WH', p_WH, (k, 3))
    norms = np.linalg.norm(q, axis=1)
    if not np.all(np.abs(norms - 1) < UNIT):
        raise ParameterError('hand trajectory: q_WH must be unit quaternions (w, x, y, z)')
    q = q / norms[:, None]
    velocities = _pair(k, w_WH_H=w_WH_H, v_WH_H=v_WH_H)
    accelerations = _pair(k, alpha_WH_H=alpha_WH_H, a_WH_H=a_WH_H)
    if accelerations is not None and velocities is None:
        raise ParameterError('hand trajectory: accelerations need velocities beside them')
    if velocities is None:
        return _splined(t, q, p)
    return _hermite(t, q, p, velocities, accelerations)


def _samples(name: str, values: ArrayLike, shape: tuple[int, int]) -> Array:
    array = np.asarray(values, dtype=float)
    if array.shape != shape or not np.all(np.isfinite(array)):
        raise ParameterError(
            f'hand trajectory: {name} takes finite numbers of shape {shape}, got {array.shape}'
        )
    return array


def _pair(k: int, **given: ArrayLike | None) -> tuple[Array, Array] | None:
    missing = [name for name, values in given.items() if values is None]
    if len(missing) == len(given):
        return None
    if missing:
        raise ParameterError(f'hand trajectory: {missing[0]} is missing beside {list(given)}')
    first, second = (_samples(n, v, (k, 3)) for n, v in given.items() if v is not None)
    return first, second


def _splined(t: Array, q: Array, p: Array) -> HandTrajectory:
    from scipy.interpolate import CubicSpline  # noqa: PLC0415  (rarely needed, slow to import)
    from scipy.spatial.transform import Rotation, RotationSpline  # noqa: PLC0415

    turn = RotationSpline(t, Rotation.from_quat(q[:, [1, 2, 3, 0]]))
    slide = CubicSpline(t, p)

    def control(s: float) -> Array:
        s = min(max(s, t[0]), t[-1])
        return np.concatenate([turn(s, 2), turn(s).inv().apply(slide(s, 2))])

    R = quat2mat(q[0])
    start = {
        'q_WH': q[0],
        'p_WH': p[0],
        'w_WH_H': turn(t[0], 1),
        'v_WH_H': R.T @ slide(t[0], 1),
    }
    return HandTrajectory(t, start, control)


def _hermite(
    t: Array,
    q: Array,
    p: Array,
    velocities: tuple[Array, Array],
    accelerations: tuple[Array, Array] | None,
) -> HandTrajectory:
    (w, v), R = velocities, np.array([quat2mat(qk) for qk in q])
    pieces = []
    for k in range(t.size - 1):
        h = t[k + 1] - t[k]
        r = rotation_vector(qmult(qconjugate(q[k]), q[k + 1]))
        J = right_jacobian(r)
        rate = np.linalg.solve(J, w[k + 1])
        slide = [p[k], p[k + 1]], [R[k] @ v[k], R[k + 1] @ v[k + 1]]
        turn = [np.zeros(3), r], [w[k], rate]
        if accelerations is None:
            pieces.append((_polynomial(h, *turn), _polynomial(h, *slide)))
            continue
        alpha, a = accelerations
        # w = J(r) r', so alpha = J r'' + (dJ/dt) r', and J = 1, dJ/dt r' = 0 at r = 0
        bend = np.linalg.solve(J, alpha[k + 1] - _jacobian_rate(r, rate) @ rate)
        pieces.append(
            (
                _polynomial(h, *turn, [alpha[k], bend]),
                _polynomial(h, *slide, [R[k] @ a[k], R[k + 1] @ a[k + 1]]),
            )
        )

    def control(s: float) -> Array:
        k = int(np.clip(np.searchsorted(t, s, side='right') - 1, 0, t.size - 2))
        turn, slide = pieces[k]
        tau = min(max(s - t[k], 0.0), t[k + 1] - t[k])
        r, rate, bend = (_value(turn, tau, order) for order in range(3))
        alpha = right_jacobian(r) @ bend + _jacobian_rate(r, rate) @ rate
        angle = float(np.linalg.norm(r))
        R_WH = R[k] @ axangle2mat(r, angle) if angle > 0 else R[k]
        return np.concatenate([alpha, R_WH.T @ _value(slide, tau, 2)])

    start = {'q_WH': q[0], 'p_WH': p[0], 'w_WH_H': w[0], 'v_WH_H': v[0]}
    return HandTrajectory(t, start, control)


def _polynomial(h: float, *ends: list[Array]) -> Array:
    """Return coefficients, shape (2 n, 3), that meet n derivatives at 0 and at h."""
    n = len(ends)
    rows, values = [], []
    for s, side in ((0.0, 0), (h, 1)):
        for order in range(n):
            rows.append(_powers(s, order, 2 * n))
            values.append(ends[order][side])
    return np.asarray(np.linalg.solve(np.array(rows), np.array(values)))


def _powers(s: float, order: int, n: int) -> Array:
    """Return the derivative of (1, s, s^2, ...)."""
    out = np.zeros(n)
    for k in range(order, n):
        out[k] = np.prod(np.arange(k, k - order, -1.0)) * s ** (k - order)
    return out


def _value(coefficients: Array, s: float, order: int) -> Array:
    return _powers(s, order, len(coefficients)) @ coefficients


def right_jacobian(r: Array) -> Array:
    """Return J with w = J(r) dr/dt for the body's angular velocity of exp(r)."""
    s, K = float(r @ r), _cross(r)
    if s < 1e-8:
        return np.asarray(np.eye(3) - K / 2 + K @ K / 6)
    n = np.sqrt(s)
    return np.asarray(np.eye(3) - (1 - np.cos(n)) / s * K + (n - np.sin(n)) / (s * n) * K @ K)


def _jacobian_rate(r: Array, rate: Array, step: float = 1e-5) -> Array:
    """Return dJ/dt by a central difference along the motion."""
    return (right_jacobian(r + step * rate) - right_jacobian(r - step * rate)) / (2 * step)


def _cross(v: Array) -> Array:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
