"""Inverses of small matrices in closed form."""

from __future__ import annotations

import casadi as ca


def inverse_2x2(m: ca.SX) -> ca.SX:
    """Return the inverse of a 2x2 matrix in closed form."""
    det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    return ca.vertcat(ca.horzcat(m[1, 1], -m[0, 1]), ca.horzcat(-m[1, 0], m[0, 0])) / det
