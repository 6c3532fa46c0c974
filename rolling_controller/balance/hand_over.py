"""
A motion along a plan that ends in balance: hand-over by the region of attraction.

Woodruff & Lynch, Section VIII-D: feedback along the plan, then the regulator of the goal, to which
the loop changes as soon as the state is where that regulator is known to come home.
"""

from __future__ import annotations

from rolling_controller.balance.region_of_attraction import RegionOfAttraction
from rolling_controller.law import Law
from rolling_dynamics.arrays import Array


class HandOver:
    """
    A law along a plan, then balance.

    Attributes
    ----------
    balancing_since
        Time at which balance took over [s]; None before.

    """

    def __init__(
        self, along: Law, region: RegionOfAttraction, *, earliest: float, latest: float
    ) -> None:
        """
        Put two laws one after the other.

        Parameters
        ----------
        along
            What is followed first: feedback along a plan, or its replay.
        region
            Region of attraction of the regulator that takes over.
        earliest
            Time before which it does not take over [s].
        latest
            Time at which it takes over wherever the state is [s], the end of the plan.

        """
        self.along, self.region = along, region
        self.earliest, self.latest = earliest, latest
        self.balancing_since: float | None = None

    def reset(self) -> None:
        """Begin anew."""
        self.balancing_since = None

    def command(self, t: float, x: Array) -> Array:
        """Return the control at a time since the start of the plan [s] in a state."""
        if self.balancing_since is None:
            inside = t >= self.earliest and self.region.contains(x)
            if inside or t >= self.latest:
                self.balancing_since = t
        if self.balancing_since is None:
            return self.along.command(t, x)
        return self.region.regulator.command(x)
