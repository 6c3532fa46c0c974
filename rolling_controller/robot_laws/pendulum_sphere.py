"""The sphere with a pendulum: gaits followed swing by swing, velocities reached by swings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rolling_controller.gait_following.gait_follower import GaitFollower, read_gaits, VelocityStick
from rolling_controller.gait_following.reference_loop import LeanGains, SwingTracking
from rolling_controller.law import Following, Law
from rolling_controller.robot_laws.regulator import never, RegulatedRobot, RobotKind
from rolling_controller.robot_laws.steering import Steered
from rolling_controller.time_varying_lqr import Option
from rolling_dynamics.arrays import Array
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import STATE
from rolling_dynamics.scenario import Scenario
from rolling_dynamics.scenario.pendulum_sphere import read_sphere
from rolling_planner.plan import Plan

FRICTION = 0.85  # fraction of the friction that a corrected swing may use


class PendulumRobot(RegulatedRobot):
    """Laws of the sphere with a pendulum."""

    # a plan has neither the rotation of the shell nor the spin of the pendulum about its own axis;
    # the floor exerts no torque about the normal, so the shell keeps its spin after a swing
    uncounted: tuple[str, ...] = ('d_WS', 'd_WP_z', 'w_WS_W_z')

    def __init__(self, scenario: Scenario, values: Mapping[str, float]) -> None:
        """
        Create the laws from a scenario.

        Parameters
        ----------
        scenario
            Scenario of a sphere with a pendulum.
        values
            Values of its options by name.

        """
        super().__init__(scenario, values)
        self._params = read_sphere(scenario.raw)

    def warm_up(self) -> None:
        """Compile the swings and the torque that tracks them."""
        SwingTracking(self._params)
        SpatialSwing(params=self._params, direction=0.0, amplitude=0.1, period=1.0).at(0.0)

    def follow(self, plan: Plan, interrupted: Callable[[], bool] = never) -> Following:
        """Return the follower of a plan that is a sequence of gaits."""
        follower = GaitFollower(
            read_gaits(self._params, plan, interrupted),
            limits=GaitLimits(
                torque=self._values['torque_limit'], friction=FRICTION * self._params.mu
            ),
            gains=self._gains(),
        )
        return Following(follower, plan.times, plan.states, holds=True)

    def drive(self, x: Array, yaw: float) -> Law[Any]:
        """Return a drive that starts at rest at the position of the sphere."""
        stick = VelocityStick(
            self._params,
            x[STATE.slice('contact')],
            limits=GaitLimits(torque=self._values['torque_limit']),
            deadband=self._values['deadband'],
            gains=self._gains(),
        )
        return Steered(stick, yaw, self._scenario.control_limits)

    def _gains(self) -> LeanGains:
        return LeanGains(
            position=self._values['position_gain'], velocity=self._values['velocity_gain']
        )


KIND = RobotKind(
    group='pendulum',
    laws=f'{__name__}:PendulumRobot',
    options=(
        Option('position_gain', 1.2, 'position feedback gain', limits=(0.0, 100.0), unit='1/s^2'),
        Option('velocity_gain', 2.0, 'velocity feedback gain', limits=(0.0, 100.0), unit='1/s'),
        Option('torque_limit', 1.0, 'maximum drive torque', limits=(1e-6, 1e6), unit='N m'),
        Option(
            'deadband',
            0.03,
            'velocity dead band: smaller errors start no swing, when driven by cmd_vel',
            limits=(1e-4, 10.0),
            unit='m/s',
        ),
    ),
)
