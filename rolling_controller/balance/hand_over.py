"""
Hand-over from feedback along a plan to a balance regulator, by its region of attraction.

Woodruff & Lynch, Section VIII-D: feedback along the plan, then the regulator of the goal. The loop
switches as soon as the state lies in the region where that regulator is known to converge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from rolling_controller.balance.region_of_attraction import RegionOfAttraction
from rolling_controller.law import as_function, FunctionLaw, Law, split
from rolling_dynamics.arrays import Array

NEVER = 1e300  # s, in the memory: the regulator has not taken over


class HandOver(FunctionLaw):
    """
    A law along a plan, then balance; see :class:`rolling_controller.law.Law`.

    Its memory is the time at which balance took over [s], and the memory of the law before.
    """

    def __init__(
        self,
        along: Law[Any],
        regulator: FunctionLaw,
        *,
        region: RegionOfAttraction | None = None,
        latest: float = 0.0,
        home: Callable[[ca.SX, ca.SX], ca.SX] | None = None,
    ) -> None:
        """
        Run two laws in sequence.

        Parameters
        ----------
        along
            The first law: feedback along a plan, or its replay.
        regulator
            The law that takes over, of the same inputs.
        region
            Region of attraction of a regulator, in which it takes over at once.
        latest
            Time at which it takes over whatever the state [s]: the end of the plan, or the start.
        home
            ``(inputs, t) -> bool``: whether it takes over; replaces the two above.

        Raises
        ------
        ParameterError
            The first law is opaque.

        """
        self.along, self.regulator = along, regulator
        first, then = as_function(along), as_function(regulator)
        n = len(then.given(0.0))

        def arrived(x: ca.SX, t: ca.SX) -> ca.SX:
            if region is None:
                return t >= latest
            inside = region.regulator.cost_to_go(x) <= region.level
            return ca.logic_or(t >= latest, inside)

        def step(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            (since, was), (at_home, ahead) = split(z, 1), split(given, n)
            since = ca.fmin(since, ca.if_else((home or arrived)(y, t), t, NEVER))
            before = since >= NEVER
            kept, u = split(first.function(was, y, t, ahead), was.numel())
            balance = then.function(ca.SX(0, 1), y, t, at_home)
            kept = ca.if_else(before, kept, was)
            return ca.vertcat(since, kept), ca.if_else(before, u, balance)

        def given(t: float) -> Array:
            return np.concatenate([then.given(t), first.given(t)])

        super().__init__(along.inputs, along.output, step, given, [NEVER, *first.memory])


def balancing_since(law: object, memory: Array) -> float | None:
    """
    Return the time at which balance took over [s]; None before, and where it never does.

    Parameters
    ----------
    law, memory
        Any law, and its memory: of a :class:`HandOver` the time first, shape (1 + k,).

    """
    return float(memory[0]) if isinstance(law, HandOver) and memory[0] < NEVER else None
