"""Ball and disk with internal masses: regulated along plans, driven by their common centre."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from rolling_controller.law import Law
from rolling_controller.mass_driven_velocity import MassDrivenVelocity, VelocityGains
from rolling_controller.robot_laws.regulator import RegulatedRobot
from rolling_controller.robot_laws.steering import Steered
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.internal_masses import PointMassBall, PointMassDisk
from rolling_dynamics.scenario import Scenario


class PointMassRobot(RegulatedRobot):
    """Laws of a ball or a disk with masses on rails."""

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Take what a scenario describes.

        Parameters
        ----------
        scenario
            Of a rolling ball or disk.
        values
            Of its options by name.

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
            VelocityGains(velocity=self._values['velocity_gain']),
            rate_limit=self._values['rate_limit'],
        )
        return Steered(law, yaw, self._scenario.control_limits, turns=not ball.planar)
