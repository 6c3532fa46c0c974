"""What a user may choose of the laws of a sphere that rolls and spins."""

from __future__ import annotations

from rolling_controller.robot_laws.regulator import RobotKind
from rolling_controller.time_varying_lqr import Option, weight_options
from rolling_dynamics.spin_rolling_sphere.system import (
    ATTITUDE,
    SPIN_ROLLING_WEIGHTS,
)

KIND = RobotKind(
    group='spin_rolling',
    laws='rolling_controller.robot_laws.spin_rolling_sphere:SpinRollingRobot',
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
