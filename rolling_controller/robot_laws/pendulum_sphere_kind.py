"""What a user may choose of the laws of a sphere with a pendulum."""

from __future__ import annotations

from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.time_varying_lqr import Option

KIND = RobotKind(
    group='pendulum',
    laws='rolling_controller.robot_laws.pendulum_sphere:PendulumRobot',
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
