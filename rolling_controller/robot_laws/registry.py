"""The robots that have laws, by the name of their system; each is imported where it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from rolling_controller.option import Option
from rolling_controller.robot_laws.options import PENDULUM, POINT_MASS, SPIN_ROLLING
from rolling_controller.robot_laws.robot import Robot
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario

_HERE = 'rolling_controller.robot_laws'


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotKind:
    """
    A kind of robot.

    Attributes
    ----------
    group
        Name before its options.
    options
        What a user may choose.
    laws
        ``module:class`` of its laws, made from a scenario and the values of the options by name.

    """

    group: str
    options: tuple[Option, ...]
    laws: str

    def make(self, scenario: Scenario, values: Mapping[str, float]) -> Robot:
        """
        Return the laws of the robot that a scenario describes.

        Parameters
        ----------
        scenario
            The scenario.
        values
            Of the options by name; looked up anew for each law, so that they may change.

        Raises
        ------
        ParameterError
            The robot cannot be controlled.

        """
        module, _, name = self.laws.partition(':')
        robot: Robot = getattr(import_module(module), name)(scenario, values)
        return robot


_POINT_MASS = RobotKind(
    group='point_mass', options=POINT_MASS, laws=f'{_HERE}.point_mass:PointMassRobot'
)
KINDS: dict[str, RobotKind] = {
    'point_mass_ball': _POINT_MASS,
    'point_mass_disk': _POINT_MASS,
    'pendulum_sphere': RobotKind(
        group='pendulum', options=PENDULUM, laws=f'{_HERE}.pendulum_sphere:PendulumRobot'
    ),
    'spin_rolling_sphere': RobotKind(
        group='spin_rolling',
        options=SPIN_ROLLING,
        laws=f'{_HERE}.spin_rolling_sphere:SpinRollingRobot',
    ),
}


def register_robot(system: str, kind: RobotKind) -> None:
    """Let another kind of robot be controlled."""
    KINDS[system] = kind


def robot_kind(system: str) -> RobotKind:
    """Return the kind of a system, or raise ParameterError naming those that there are."""
    try:
        return KINDS[system]
    except KeyError:
        known = ', '.join(KINDS)
        raise ParameterError(f'system {system!r} has no laws here; there are: {known}') from None
