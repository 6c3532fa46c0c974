"""The view of a robot, found by the plug-in of its system."""

from __future__ import annotations

from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.plugin import role_of
from rolling_dynamics.robots.general_view import general_view
from rolling_dynamics.robots.view import RobotView


def robot_view(system: RollingSystem, p: ArrayLike) -> RobotView:
    """
    Return the view of a robot: its own, or one from its contract alone.

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
    view_of = role_of(system.name, 'robot_view')
    if view_of is None and 'hand' in system.pose.name_out():
        raise ParameterError(f'system {system.name!r} is an object on a hand, not a rolling robot')
    if system.independent_variable != 'time':
        raise ParameterError(
            f'system {system.name!r} is driven over the {system.independent_variable}; a robot '
            "needs the rolling rate too: give the input 'delta', or 'angular_velocity'"
        )
    view: RobotView = (view_of or general_view)(system, p)
    return view
