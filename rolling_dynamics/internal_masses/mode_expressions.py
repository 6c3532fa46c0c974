"""A mode of motion as expressions, before they become functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca


@dataclass(frozen=True, eq=False)
class ModeExpressions:
    """
    One mode of motion as expressions.

    Attributes
    ----------
    xdot
        Rates of the state.
    force_W
        Contact force in W (3,) [N]: friction, friction, N.
    guards
        Name -> margin.
    power
        Power of the actuators [W].

    """

    xdot: ca.SX
    force_W: ca.SX
    guards: Mapping[str, ca.SX]
    power: ca.SX
