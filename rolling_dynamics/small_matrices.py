"""Inverses of small matrices, and small linear equations, in closed form."""

from __future__ import annotations

import casadi as ca


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
