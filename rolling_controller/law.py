"""What computes a control along a plan, and the motion that it is to keep."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from rolling_planner.plan import Plan

Array = NDArray[np.float64]


class Law(Protocol):
    """What computes the control."""

    def command(self, t: float, x: Array) -> Array:
        """Return the control at a time of the plan [s] in a state."""
        ...


class OpenLoop:
    """The planned control, whatever the state."""

    def __init__(self, plan: Plan) -> None:
        """Play back this plan."""
        self._plan = plan

    def command(self, t: float, x: Array) -> Array:  # noqa: ARG002
        """Return the planned control."""
        return self._plan.control_at(t)


class Following(NamedTuple):
    """
    A law and the motion that it keeps.

    Attributes
    ----------
    law
        The law.
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    warning
        What a user should know about the law, or the empty string.
    holds
        Whether the law goes on to hold the end of the motion when that is over.

    """

    law: Law
    times: Array
    states: Array
    warning: str = ''
    holds: bool = False
