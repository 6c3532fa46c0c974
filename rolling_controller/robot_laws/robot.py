"""What the controller node asks of a robot: to follow plans, to be driven, to stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from rolling_controller.law import Following
from rolling_dynamics.arrays import Array
from rolling_planner.plan import Plan


class Velocity(NamedTuple):
    """
    Wanted velocity on the floor.

    Attributes
    ----------
    forward, left
        Speed ahead and to the left [m/s].
    turn
        Rate at which ahead turns about the vertical [rad/s].

    """

    forward: float = 0.0
    left: float = 0.0
    turn: float = 0.0


STILL = Velocity()


class Drive(Protocol):
    """
    Feedback that keeps a wanted velocity.

    Attributes
    ----------
    holds
        Whether it holds the robot where it stands, and goes on until something else commands it.
    not_held
        What of the state no control moves, in words; it is left as it is.

    """

    holds: bool = False
    not_held: str = ''

    def command(self, t: float, x: Array, wanted: Velocity) -> Array:
        """
        Return the control.

        Parameters
        ----------
        t
            Time [s], increasing.
        x
            State.
        wanted
            Wanted velocity.

        """
        ...


class Robot(Protocol):
    """
    The laws of one robot.

    Attributes
    ----------
    uncounted
        Tangent entries or scalars that its plans leave free: no part of any error.

    """

    uncounted: tuple[str, ...] = ()

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

    def stand(self, x: Array) -> Drive | None:
        """Return what holds it where it was stopped, None where its safe control does."""
