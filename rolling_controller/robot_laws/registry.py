"""The robots that have laws, by the name of their system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rolling_controller.option import Option
from rolling_controller.robot_laws import pendulum_sphere, point_mass, spin_rolling_sphere
from rolling_controller.robot_laws.robot import Robot
from rolling_dynamics.errors import ParameterError
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
    make
        ``(scenario, values) -> robot``; the values by name of the option are looked up anew for
        each law, so that they may change.

    """

    group: str
    options: tuple[Option, ...]
    make: Callable[[Scenario, Mapping[str, float]], Robot]


_POINT_MASS = RobotKind(
    group='point_mass', options=point_mass.OPTIONS, make=point_mass.PointMassRobot
)
KINDS: dict[str, RobotKind] = {
    'point_mass_ball': _POINT_MASS,
    'point_mass_disk': _POINT_MASS,
    'pendulum_sphere': RobotKind(
        group='pendulum', options=pendulum_sphere.OPTIONS, make=pendulum_sphere.PendulumRobot
    ),
    'spin_rolling_sphere': RobotKind(
        group='spin_rolling',
        options=spin_rolling_sphere.OPTIONS,
        make=spin_rolling_sphere.SpinRollingRobot,
    ),
}


def robot_kind(system: str) -> RobotKind:
    """Return the kind of a system, or raise ParameterError naming those that there are."""
    try:
        return KINDS[system]
    except KeyError:
        known = ', '.join(KINDS)
        raise ParameterError(f'system {system!r} has no laws here; there are: {known}') from None
