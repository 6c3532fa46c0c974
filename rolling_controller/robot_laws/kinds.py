"""The kinds of robots of the suite; each one's laws are imported when they are made."""

from rolling_controller.robot_laws.options import PENDULUM, POINT_MASS, SPIN_ROLLING
from rolling_controller.robot_laws.registry import RobotKind

_HERE = 'rolling_controller.robot_laws'

POINT_MASS_KIND = RobotKind(
    group='point_mass', options=POINT_MASS, laws=f'{_HERE}.point_mass:PointMassRobot'
)
PENDULUM_KIND = RobotKind(
    group='pendulum', options=PENDULUM, laws=f'{_HERE}.pendulum_sphere:PendulumRobot'
)
SPIN_ROLLING_KIND = RobotKind(
    group='spin_rolling',
    options=SPIN_ROLLING,
    laws=f'{_HERE}.spin_rolling_sphere:SpinRollingRobot',
)
