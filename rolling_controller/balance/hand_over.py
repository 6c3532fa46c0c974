"""
A motion along a plan that ends in balance: hand-over by the region of attraction.

Woodruff & Lynch, Section VIII-D: feedback along the plan, then the regulator of the goal, to which
the loop changes as soon as the state is where that regulator is known to come home.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.balance.hold import BalanceLqr
from rolling_controller.balance.region_of_attraction import RegionOfAttraction
from rolling_controller.law import as_function, Law, LawFunction, split, written
from rolling_dynamics.arrays import Array

NEVER = 1e300  # s, in a memory of numbers: balance has not taken over


class Phase(NamedTuple):
    """
    Memory of a law that ends in balance.

    Attributes
    ----------
    along
        Memory of the law before balance.
    balancing_since
        Time at which balance took over [s]; None before.

    """

    along: Any = None
    balancing_since: float | None = None


def balancing_since(memory: object) -> float | None:
    """Return the time at which balance took over [s]; None before, and where it never does."""
    return memory.balancing_since if isinstance(memory, Phase) else None


class HandOver:
    """A law along a plan, then balance; see :class:`rolling_controller.law.Law`."""

    period: float | None = None

    def __init__(
        self,
        along: Law[Any],
        regulator: BalanceLqr,
        *,
        region: RegionOfAttraction | None = None,
        latest: float = 0.0,
    ) -> None:
        """
        Put two laws one after the other.

        Parameters
        ----------
        along
            What is followed first: feedback along a plan, or its replay.
        regulator
            The regulator that takes over.
        region
            Its region of attraction, where it takes over at once.
        latest
            Time at which it takes over wherever the state is [s]: the end of the plan, or the
            start.

        """
        self.along, self.regulator, self.region, self.latest = along, regulator, region, latest
        self.inputs, self.output, self.opaque = along.inputs, along.output, along.opaque

    def start(self, before: Phase | None = None) -> Phase:  # noqa: ARG002
        """Return the memory at the start; see :class:`rolling_controller.law.Law`."""
        return Phase(self.along.start())

    def step(self, memory: Phase, inputs: ArrayLike, t: float) -> tuple[Phase, Array]:
        """Return the memory, and the control in a state at a time since the start [s]."""
        x = np.asarray(inputs, dtype=float)
        if memory.balancing_since is None:
            inside = self.region is not None and self.region.contains(x)
            if inside or t >= self.latest:
                memory = memory._replace(balancing_since=t)
        if memory.balancing_since is None:
            along, u = self.along.step(memory.along, x, t)
            return memory._replace(along=along), u
        return memory, self.regulator.step(None, x, t)[1]

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        along, regulator = as_function(self.along), as_function(self.regulator)
        n = regulator.given(0.0).size

        def step(z: ca.SX, x: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            home = t >= self.latest
            if self.region is not None:
                home = ca.logic_or(home, self.regulator.cost_to_go(x) <= self.region.level)
            (since, was), (at_home, ahead) = split(z, 1), split(given, n)
            since = ca.fmin(since, ca.if_else(home, t, NEVER))
            before = since >= NEVER
            kept, u = split(along.function(was, x, t, ahead), was.numel())
            balance = regulator.function(ca.SX(0, 1), x, t, at_home)
            kept = ca.if_else(before, kept, was)
            return ca.vertcat(since, kept), ca.if_else(before, u, balance)

        def given(t: float) -> Array:
            return np.concatenate([regulator.given(t), along.given(t)])

        return written(self, step, given, [NEVER, *along.memory])
