"""What a user may choose of the laws of a sphere with a pendulum."""

from __future__ import annotations

from rolling_controller.lqr_weights import Option
from rolling_controller.robot_laws.regulator import RobotKind

KIND = RobotKind(
    group='pendulum',
    laws='rolling_controller.robot_laws.pendulum_sphere:PendulumRobot',
    options=(
        Option(
            name='position_gain',
            default=1.2,
            low=0.0,
            high=100.0,
            unit='1/s^2',
            text='position feedback gain',
        ),
        Option(
            name='velocity_gain',
            default=2.0,
            low=0.0,
            high=100.0,
            unit='1/s',
            text='velocity feedback gain',
        ),
        Option(
            name='torque_limit',
            default=1.0,
            low=1e-6,
            high=1e6,
            unit='N m',
            text='maximum drive torque',
        ),
        Option(
            name='deadband',
            default=0.03,
            low=1e-4,
            high=10.0,
            unit='m/s',
            text='velocity dead band: smaller errors start no swing, when driven by cmd_vel',
        ),
    ),
)
