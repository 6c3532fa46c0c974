"""What computes a control along a plan, and the motion that it is to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TYPE_CHECKING

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.plan import Plan

if TYPE_CHECKING:
    from rolling_controller.robot_laws.robot import Drive


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


class Course(NamedTuple):
    """
    The motion that a law keeps at present.

    Attributes
    ----------
    times, states
        The motion, shapes (k,) [s] and (k, n): errors are those from it.
    end
        When it is over [s]; infinite as long as that is open.
    goal
        State in which it is to end.
    shortfall
        Why that is not what was asked for; empty where it is.
    missed
        What a state has of goal error; its distance from ``goal`` where None.

    """

    times: Array
    states: Array
    end: float
    goal: Array
    shortfall: str = ''
    missed: Callable[[Array], float] | None = None

    def at(self, t: float) -> Array:
        """Return the state that is to be kept at a time [s]; held at the ends."""
        times, states = self.times, self.states
        k = int(np.searchsorted(times, t, side='right')) - 1
        k = min(max(k, 0), len(times) - 2)
        s = min(max((t - times[k]) / (times[k + 1] - times[k]), 0.0), 1.0)
        return np.asarray((1.0 - s) * states[k] + s * states[k + 1])


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
    course
        Asked for the motion that a law keeps which changes it on the way; None for one that stays
        with ``times`` and ``states``.
    hold
        What holds the end of the motion from then on; None where nothing does.
    notice
        What the law does not do, of which nothing follows for a user; or the empty string.

    """

    law: Law
    times: Array
    states: Array
    warning: str = ''
    holds: bool = False
    course: Callable[[], Course] | None = None
    hold: Drive | None = None
    notice: str = ''
