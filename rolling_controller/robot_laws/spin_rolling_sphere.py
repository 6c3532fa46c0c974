"""The sphere that rolls and spins: a kinematic regulator, and velocities as they are commanded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
from rolling_controller.law import (
    Around,
    Following,
    FunctionLaw,
    Law,
    state_inputs,
    VELOCITY_W,
)
from rolling_controller.robot_laws.regulator import never, RegulatedRobot, RobotKind
from rolling_controller.robot_laws.steering import Steered
from rolling_controller.time_varying_lqr import Option, weight_options
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.spin_rolling_sphere.system import ATTITUDE, SPIN_ROLLING_WEIGHTS
from rolling_planner.plan import Plan


class SpinRollingRobot(RegulatedRobot):
    """Laws of the kinematic sphere."""

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Create the laws from a scenario.

        Parameters
        ----------
        scenario
            Scenario with the angular velocity as input.
        values
            Values of its options by name.

        Raises
        ------
        ParameterError
            The scenario is over the arc length, or in coordinates.

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
        bounds = ca.DM(self._bounds())
        return found._replace(law=Around(found.law, after=lambda w: bounded(w, bounds)))

    def drive(self, x: Array, yaw: float) -> Law[Any]:  # noqa: ARG002  it starts alike from every state
        """Return a drive that rolls with the velocity and spins with the rate of a command."""
        system = self._scenario.system

        def rolled(z: ca.SX, y: ca.SX, _: ca.SX, bounds: ca.SX) -> tuple[ca.SX, ca.SX]:
            vx, vy, turn = ca.vertsplit(y[-3:])
            return z, bounded(ca.vertcat(-vy / bounds[0], vx / bounds[0], turn), bounds)

        inputs = state_inputs(system, VELOCITY_W)
        law = FunctionLaw(inputs, system.control, rolled, self._bounds())
        return Steered(law, yaw, self._scenario.control_limits)

    def _bounds(self) -> Array:
        """Return the numbers that :func:`bounded` takes."""
        rates = self._values['rolling_rate'], self._values['spin_rate']
        return np.array([self._radius, *rates, *self._scenario.control_limits])


def bounded(w: ca.SX, bounds: ca.SX) -> ca.SX:
    """
    Return an angular velocity within bounds; rolling keeps its direction.

    Parameters
    ----------
    w
        Angular velocity, shape (3,) [rad/s].
    bounds
        Radius [m], maximum velocity of rolling [m/s], maximum spin [rad/s], and maximum magnitude
        of each component [rad/s]; shape (6,).

    """
    radius, most, spin = bounds[0], bounds[1], bounds[2]
    rolling = radius * ca.norm_2(w[:2])
    fraction = ca.if_else(rolling > most, most / ca.fmax(rolling, most), 1)
    wanted = ca.vertcat(fraction * w[:2], ca.fmin(ca.fmax(w[2], -spin), spin))
    return ca.densify(ca.fmax(ca.fmin(wanted, bounds[3:]), -bounds[3:]))


KIND = RobotKind(
    group='spin_rolling',
    laws=f'{__name__}:SpinRollingRobot',
    options=(
        *weight_options(SPIN_ROLLING_WEIGHTS, ATTITUDE),
        Option(
            'rolling_rate', 1.0, 'maximum rolling rate delta', limits=(1e-6, 100.0), unit='m/s'
        ),
        Option(
            'spin_rate',
            10.0,
            'maximum spin about the normal of the plane',
            limits=(0.0, 1e4),
            unit='rad/s',
        ),
    ),
)
