"""Rotations: matrices, rates, series of attitudes, and solutions of small systems."""

from __future__ import annotations

from collections.abc import Iterable

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array


def rotation_matrix(q: ca.SX) -> ca.SX:
    """Return R_AB of the quaternion q_AB, not necessarily of norm 1."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    n = ca.sumsqr(q)
    return (
        ca.vertcat(
            ca.horzcat(w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)),
            ca.horzcat(2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)),
            ca.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z),
        )
        / n
    )


def rotation_about(axis: ca.SX, angle: ca.SX) -> ca.SX:
    """Return R_AB of an angle [rad] about a unit vector (3)."""
    along = axis @ axis.T
    return along + ca.cos(angle) * (ca.SX.eye(3) - along) + ca.sin(angle) * ca.skew(axis)


def matrix_quaternion(R: ca.SX) -> ca.SX:
    """Return the unit quaternion of a rotation matrix, by the largest pivot."""
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    off = ca.vertcat(R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])
    best, q = 1 + trace, ca.vertcat(1 + trace, off)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        pivot = 1 + 2 * R[i, i] - trace
        row = [off[i]] + [ca.SX(0)] * 3
        row[1 + i], row[1 + j], row[1 + k] = pivot, R[i, j] + R[j, i], R[i, k] + R[k, i]
        q = ca.if_else(pivot > best, ca.vertcat(*row), q)
        best = ca.fmax(best, pivot)
    return q / ca.norm_2(q)


def product(p: ca.SX, q: ca.SX) -> ca.SX:
    """Return the quaternion product p q, so that R(p q) = R(p) R(q)."""
    pv, qv = p[1:4], q[1:4]
    return ca.vertcat(p[0] * q[0] - ca.dot(pv, qv), p[0] * qv + q[0] * pv + ca.cross(pv, qv))


def conjugate(q: ca.SX) -> ca.SX:
    """Return the quaternion of the inverse rotation."""
    return ca.vertcat(q[0], -q[1:4])


def rate_body(q_AB: ca.SX, w_AB_B: ca.SX) -> ca.SX:
    """Return dq_AB/dt for an angular velocity expressed in B."""
    return 0.5 * product(q_AB, ca.vertcat(0, w_AB_B))


def rate_space(q_AB: ca.SX, w_AB_A: ca.SX) -> ca.SX:
    """Return dq_AB/dt for an angular velocity expressed in A."""
    return 0.5 * product(ca.vertcat(0, w_AB_A), q_AB)


def exponential(d: ca.SX) -> ca.SX:
    """Return the unit quaternion of the rotation vector d [rad]; smooth at d = 0."""
    s = ca.sumsqr(d) / 4  # (|d|/2)^2
    small = s < 1e-8
    h = ca.sqrt(ca.if_else(small, 1.0, s))
    sinc = ca.if_else(small, 1 - s / 6 + s * s / 120, ca.sin(h) / h)
    cosine = ca.if_else(small, 1 - s / 2 + s * s / 24, ca.cos(h))
    return ca.vertcat(cosine, 0.5 * sinc * d)


def logarithm(q: ca.SX) -> ca.SX:
    """Return the rotation vector of q, of norm at most pi; smooth at the identity."""
    q = q / ca.norm_2(q)
    q = ca.if_else(q[0] < 0, -q, q)
    s = ca.sumsqr(q[1:4])
    small = s < 1e-10
    n = ca.sqrt(ca.if_else(small, 1.0, s))
    # 2 atan2(n, w) / n, with its series 2/w (1 - s/(3 w^2)) near the identity
    factor = ca.if_else(small, 2 / q[0] * (1 - s / (3 * q[0] * q[0])), 2 * ca.atan2(n, q[0]) / n)
    return factor * q[1:4]


def roll_pitch_yaw(q: ca.SX) -> ca.SX:
    """Return (theta, beta, gamma) with R = Rot(z, gamma) Rot(y, beta) Rot(x, theta)."""
    R = rotation_matrix(q)
    return ca.vertcat(
        ca.atan2(R[2, 1], R[2, 2]),
        ca.atan2(-R[2, 0], ca.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2)),
        ca.atan2(R[1, 0], R[0, 0]),
    )


def homogeneous(R: ca.SX, p: ca.SX) -> ca.SX:
    """Return the 4x4 matrix of a pose."""
    return ca.vertcat(ca.horzcat(R, p), ca.horzcat(0, 0, 0, 1))


def without_jumps(q: Array) -> Array:
    """Return unit quaternions, shape (N, 4), each with the sign closest to the previous one."""
    turns = np.sum(q[1:] * q[:-1], axis=1)
    signs = np.concatenate([[1.0], np.cumprod(np.where(turns < 0, -1.0, 1.0))])
    return np.asarray(q * signs[:, None])


def quaternions(matrices: Iterable[Array]) -> Array:
    """
    Return unit quaternions w, x, y, z of rotation matrices, shape (N, 4), without jumps.

    The bits equal ``transforms3d.quaternions.mat2quat``'s (Bar-Itzhack, 2000), which takes
    one matrix at a time.
    """
    R = np.array([np.asarray(m, dtype=float) for m in matrices]).reshape(-1, 9)
    xx, yx, zx, xy, yy, zy, xz, yz, zz = R.T
    K = np.zeros((len(R), 4, 4))  # the lower half is used
    K[:, 0, 0] = xx - yy - zz
    K[:, 1, 0], K[:, 1, 1] = yx + xy, yy - xx - zz
    K[:, 2, 0], K[:, 2, 1], K[:, 2, 2] = zx + xz, zy + yz, zz - xx - yy
    K[:, 3, 0], K[:, 3, 1], K[:, 3, 2], K[:, 3, 3] = yz - zy, zx - xz, xy - yx, xx + yy + zz
    _, vectors = np.linalg.eigh(K / 3.0)
    q = vectors[:, [3, 0, 1, 2], -1]
    return without_jumps(np.where(q[:, :1] < 0, -q, q))


def inverse_2x2(m: ca.SX) -> ca.SX:
    """Return the inverse of a 2x2 matrix in closed form."""
    det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    return ca.vertcat(ca.horzcat(m[1, 1], -m[0, 1]), ca.horzcat(-m[1, 0], m[0, 0])) / det


def solve_3x3(A: ca.SX, b: ca.SX) -> ca.SX:
    """Return A^-1 b of a 3x3 matrix by the adjugate: no branches, few operations."""
    a, d, g = A[:, 0], A[:, 1], A[:, 2]
    dg, ga, ad = ca.cross(d, g), ca.cross(g, a), ca.cross(a, d)
    determinant = ca.dot(a, dg)
    return ca.vertcat(ca.dot(dg, b), ca.dot(ga, b), ca.dot(ad, b)) / determinant
