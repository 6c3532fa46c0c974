"""The laws of robots, found by the plug-ins of their systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from rolling_controller.option import Option
from rolling_controller.robot_laws.regulator import RegulatedRobot
from rolling_dynamics.plugin import role_of
from rolling_dynamics.scenario import Scenario


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

    def make(self, scenario: Scenario, values: Mapping[str, float]) -> RegulatedRobot:
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
        robot: RegulatedRobot = getattr(import_module(module), name)(scenario, values)
        return robot


DEFAULT = RobotKind(group='', options=(), laws='rolling_controller.robot_laws.regulator:HeldRobot')


def robot_kind(system: str) -> RobotKind:
    """Return the kind of a system; the default where its plug-in names none."""
    kind: RobotKind = role_of(system, 'law') or DEFAULT
    return kind
