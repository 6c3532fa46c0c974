"""Ball and disk with internal masses: regulated along plans, driven by their common centre."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rolling_controller.law import Law
from rolling_controller.mass_driven_velocity import MassDrivenVelocity
from rolling_controller.robot_laws.regulator import RegulatedRobot, RobotKind
from rolling_controller.robot_laws.steering import Steered
from rolling_controller.time_varying_lqr import Option, weight_options
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses.ball import PointMassBall, PointMassDisk
from rolling_dynamics.internal_masses.system import MASS_DRIVEN_WEIGHTS
from rolling_dynamics.scenario import Scenario


class PointMassRobot(RegulatedRobot):
    """Laws of a ball or a disk with masses on rails."""

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Create the laws from a scenario.

        Parameters
        ----------
        scenario
            Scenario of a rolling ball or disk.
        values
            Values of its options by name.

        Raises
        ------
        ParameterError
            No mass can be controlled.

        """
        super().__init__(scenario, values)
        if not scenario.system.control.size:
            raise ParameterError('no mass of this robot can be controlled: all have a drive')

    def drive(self, x: Array, yaw: float) -> Law[Any]:  # noqa: ARG002  it starts alike from every state
        """Return a drive of a ball with two masses or more, or of a disk."""
        ball = cast('PointMassBall | PointMassDisk', self._scenario.system)  # by its plug-in
        law = MassDrivenVelocity(
            ball,
            self._scenario.p,
            velocity=self._values['velocity_gain'],
            rate_limit=self._values['rate_limit'],
        )
        return Steered(law, yaw, self._scenario.control_limits, turns=not ball.planar)


KIND = RobotKind(
    group='point_mass',
    laws=f'{__name__}:PointMassRobot',
    options=(
        *weight_options(MASS_DRIVEN_WEIGHTS, MASS_DRIVEN_WEIGHTS.tracking),
        Option(
            'velocity_gain',
            1.5,
            'velocity feedback gain, when driven by cmd_vel',
            limits=(1e-3, 100.0),
            unit='1/s',
        ),
        Option(
            'rate_limit',
            20.0,
            'maximum rate of a mass on its rail (rail units per second), under cmd_vel',
            limits=(1e-3, 1e4),
        ),
    ),
)
