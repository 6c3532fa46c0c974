"""Which module knows the view of which kind of robot."""

from __future__ import annotations

from importlib import import_module

from numpy.typing import ArrayLike
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.robots.view import RobotView

VIEWS: dict[str, str] = {
    'point_mass_ball': 'rolling_dynamics.internal_masses.robot_view',
    'point_mass_disk': 'rolling_dynamics.internal_masses.robot_view',
    'pendulum_sphere': 'rolling_dynamics.pendulum_sphere.robot_view',
    'spin_rolling_sphere': 'rolling_dynamics.spin_rolling_sphere.robot_view',
}


def register_view(system: str, module: str) -> None:
    """Let ``robot_view`` show another kind of robot: a module with ``view(system, p)``."""
    VIEWS[system] = module


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
    if system.name not in VIEWS:
        known = ', '.join(VIEWS)
        raise ParameterError(f'system {system.name!r} is no rolling robot; these are: {known}')
    if system.independent_variable != 'time':
        raise ParameterError(
            f'system {system.name!r} is driven over the {system.independent_variable}; a robot '
            "needs the rolling rate too: give the input 'delta', or 'angular_velocity'"
        )
    view: RobotView = import_module(VIEWS[system.name]).view(system, p)
    return view
