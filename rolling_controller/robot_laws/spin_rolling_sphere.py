"""The sphere that rolls and spins: a kinematic regulator, and velocities as they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

import numpy as np
from rolling_controller.law import Following, Law
from rolling_controller.robot_laws.regulator import never, RegulatedRobot
from rolling_controller.robot_laws.robot import Drive, Velocity
from rolling_controller.robot_laws.steering import Steering
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_planner.plan import Plan

_Bound = Callable[[Array], Array]


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
        return found._replace(law=_Bounded(found.law, self._bounded))

    def drive(self, x: Array, yaw: float) -> RollingDrive:  # noqa: ARG002  it starts alike from every state
        """Return a drive."""
        return RollingDrive(self._radius, self._bounded, yaw)

    def _bounded(self, w: Array) -> Array:
        """Return an angular velocity within the bounds; rolling keeps its direction."""
        rolling = self._radius * math.hypot(w[0], w[1])
        most, spin = self._values['rolling_rate'], self._values['spin_rate']
        share = most / rolling if rolling > most else 1.0
        limits = self._scenario.control_limits
        wanted = np.array([share * w[0], share * w[1], min(max(w[2], -spin), spin)])
        return np.array(np.clip(wanted, -limits, limits))


class _Bounded:
    """A law whose control is brought within bounds."""

    def __init__(self, law: Law, bounded: _Bound) -> None:
        self._law, self._bounded = law, bounded

    def command(self, t: float, x: Array) -> Array:
        return self._bounded(self._law.command(t, x))


class RollingDrive(Drive):
    """Rolls with the wanted velocity and spins with the wanted rate; see :class:`Drive`."""

    def __init__(self, radius: float, bounded: _Bound, yaw: float) -> None:
        """Take the radius [m], what brings a control within bounds, and the heading [rad]."""
        self._radius, self._bounded, self._steering = radius, bounded, Steering(yaw)

    def command(self, t: float, x: Array, wanted: Velocity) -> Array:  # noqa: ARG002
        """Return w_SO_S [rad/s], shape (3,)."""
        vx, vy = self._steering.velocity(t, wanted)
        return self._bounded(np.array([-vy / self._radius, vx / self._radius, wanted.turn]))
