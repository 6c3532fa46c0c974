"""The classical step of order 4 as expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import casadi as ca

Expression = TypeVar('Expression', ca.SX, ca.MX)


def runge_kutta(
    f: ca.Function, x: ca.MX, u: ca.MX, t: ca.MX, h: ca.MX, p: ca.MX
) -> tuple[list[ca.MX], ca.MX]:
    """Return the states at which a step evaluates the rates after its start, and its end."""
    return step_of_order_4(lambda at, k: f(at, u, (t, t + h / 2, t + h)[k], p), x, h)


def step_of_order_4(
    rate: Callable[[Expression, int], Expression], x: Expression, h: Expression | float
) -> tuple[list[Expression], Expression]:
    """
    Return the stages of a step after its start, and its end.

    Parameters
    ----------
    rate
        Rate of a state at the start, the middle or the end of the step: 0, 1 or 2.
    x, h
        State at the start, and length of the step.

    """
    k1 = rate(x, 0)
    stages = [x + h / 2 * k1]
    k2 = rate(stages[0], 1)
    stages.append(x + h / 2 * k2)
    k3 = rate(stages[1], 1)
    stages.append(x + h * k3)
    k4 = rate(stages[2], 2)
    return stages, x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
