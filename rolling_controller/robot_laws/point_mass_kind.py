"""What a user may choose of the laws of a ball and a disk with masses inside."""

from __future__ import annotations

from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.time_varying_lqr import Option, weight_options
from rolling_dynamics.internal_masses.system import MASS_DRIVEN_WEIGHTS

KIND = RobotKind(
    group='point_mass',
    laws='rolling_controller.robot_laws.point_mass:PointMassRobot',
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
