"""What a user may choose of the laws of a sphere with a pendulum."""

from __future__ import annotations

from rolling_controller.option import Option
from rolling_controller.robot_laws.registry import RobotKind

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
            text='from the error of the place to an acceleration',
        ),
        Option(
            name='velocity_gain',
            default=2.0,
            low=0.0,
            high=100.0,
            unit='1/s',
            text='from the error of the velocity to an acceleration',
        ),
        Option(
            name='torque_limit',
            default=1.0,
            low=1e-6,
            high=1e6,
            unit='N m',
            text='greatest torque of the drive',
        ),
        Option(
            name='deadband',
            default=0.03,
            low=1e-4,
            high=10.0,
            unit='m/s',
            text='error of the velocity that begins no swing, when driven',
        ),
    ),
)
