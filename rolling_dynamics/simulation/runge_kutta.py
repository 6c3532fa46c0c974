"""The classical step of order 4 as expressions."""

from __future__ import annotations

import casadi as ca


def runge_kutta(
    f: ca.Function, x: ca.MX, u: ca.MX, t: ca.MX, h: ca.MX, p: ca.MX
) -> tuple[list[ca.MX], ca.MX]:
    """Return the states at which a step evaluates the rates after its start, and its end."""
    k1 = f(x, u, t, p)
    stages = [x + h / 2 * k1]
    k2 = f(stages[0], u, t + h / 2, p)
    stages.append(x + h / 2 * k2)
    k3 = f(stages[1], u, t + h / 2, p)
    stages.append(x + h * k3)
    k4 = f(stages[2], u, t + h, p)
    return stages, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
