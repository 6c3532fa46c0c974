"""What the controller node asks of a rolling robot: following plans, and being driven."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rolling_controller.law import Following
from rolling_dynamics.arrays import Array
from rolling_planner.plan import Plan


class Drive(Protocol):
    """Feedback that keeps a wanted velocity."""

    def command(self, t: float, x: Array, forward: float, turn: float) -> Array:
        """
        Return the control.

        Parameters
        ----------
        t
            Time [s], increasing.
        x
            State.
        forward
            Wanted speed ahead [m/s].
        turn
            Rate at which ahead turns about the vertical [rad/s].

        """
        ...


class Robot(Protocol):
    """The laws of one robot."""

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Tangent entries or scalars that its plans leave free: no part of any error."""
        ...

    def warm_up(self) -> None:
        """Compile what the first plan needs."""
        ...

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = ...) -> Following:
        """
        Return the feedback along a plan, or raise ParameterError naming what does not fit.

        Parameters
        ----------
        plan
            The plan.
        interrupted
            Asked now and then whether to give up, by a CancelledError.

        """
        ...

    def drive(self, x: Array, yaw: float) -> Drive:
        """Return a drive from a state that heads along a yaw [rad], or raise ParameterError."""
        ...
