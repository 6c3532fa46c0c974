"""The view of a robot, found by the plug-in of its system."""

from __future__ import annotations

from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import needed_role, register_role
from rolling_dynamics.robots.view import RobotView


def register_view(system: str, module: str) -> None:
    """Let a module with ``view(system, p)`` show another robot; deprecated, see plug-ins."""
    register_role(system, robot_view=f'{module}:view')


def robot_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a robot.

    Parameters
    ----------
    system
        The system.
    p
        Its parameters; lengths of what is drawn are taken from them.

    Raises
    ------
    ParameterError
        The system is no robot, or cannot be driven over time.

    """
    view_of = needed_role(system.name, 'robot_view', 'view as a rolling robot')
    if system.independent_variable != 'time':
        raise ParameterError(
            f'system {system.name!r} is driven over the {system.independent_variable}; a robot '
            "needs the rolling rate too: give the input 'delta', or 'angular_velocity'"
        )
    view: RobotView = view_of(system, p)
    return view
