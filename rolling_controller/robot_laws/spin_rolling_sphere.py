"""The sphere that rolls and spins: a kinematic regulator, and velocities as they are commanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math
from typing import Any

import numpy as np
from rolling_controller.law import (
    Following,
    Law,
    Memoryless,
    state_inputs,
    StateFeedback,
    VELOCITY_W,
)
from rolling_controller.robot_laws.regulator import never, RegulatedRobot
from rolling_controller.robot_laws.steering import Steered
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan


class SpinRollingRobot(RegulatedRobot):
    """Laws of the kinematic sphere."""

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Take what a scenario describes.

        Parameters
        ----------
        scenario
            With the angular velocity as input.
        values
            Of its options by name.

        Raises
        ------
        ParameterError
            The scenario is one over the arc length, or in coordinates.

        """
        system = scenario.system
        if system.independent_variable != 'time' or 'w_SO_S' not in system.control:
            raise ParameterError(
                'inputs: control in time takes `angular_velocity`, got the controls '
                f'{", ".join(system.control.names)} over {system.independent_variable}'
            )
        super().__init__(scenario, values)
        self._radius = float(scenario.p[0])

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = never) -> Following:
        """Return the regulator along a plan; it uses the inputs that the plan uses."""
        found = super().follow(plan, interrupted)
        system = self._scenario.system
        law = StateFeedback(system, lambda t, x: self._bounded(found.law.step(None, x, t)[1]))
        return found._replace(law=law)

    def drive(self, x: Array, yaw: float) -> Law[Any]:  # noqa: ARG002  it starts alike from every state
        """Return a drive that rolls with the velocity and spins with the rate of a command."""
        system, radius = self._scenario.system, self._radius

        def rolled(_: float, given: Array) -> Array:
            vx, vy, turn = given[-3:].tolist()
            return self._bounded(np.array([-vy / radius, vx / radius, turn]))

        law = Memoryless(state_inputs(system, VELOCITY_W), system.control, rolled)
        return Steered(law, yaw, self._scenario.control_limits)

    def _bounded(self, w: Array) -> Array:
        """Return an angular velocity within the bounds; rolling keeps its direction."""
        rolling = self._radius * math.hypot(w[0], w[1])
        most, spin = self._values['rolling_rate'], self._values['spin_rate']
        share = most / rolling if rolling > most else 1.0
        limits = self._scenario.control_limits
        wanted = np.array([share * w[0], share * w[1], min(max(w[2], -spin), spin)])
        return np.array(np.clip(wanted, -limits, limits))
