"""What a user may choose of the laws of each robot; light, for nodes that run only one of them."""

from __future__ import annotations

from rolling_controller.lqr_options import weight_options
from rolling_controller.option import Option
from rolling_dynamics.internal_masses.regulator_weights import MASS_DRIVEN_WEIGHTS
from rolling_dynamics.spin_rolling_sphere.regulator_weights import (
    ATTITUDE as SPIN_ROLLING_ATTITUDE,
)
from rolling_dynamics.spin_rolling_sphere.regulator_weights import (
    SPIN_ROLLING_WEIGHTS,
)

POINT_MASS: tuple[Option, ...] = (
    *weight_options(MASS_DRIVEN_WEIGHTS, MASS_DRIVEN_WEIGHTS.tracking),
    Option(
        name='velocity_gain',
        default=1.5,
        low=1e-3,
        high=100.0,
        unit='1/s',
        text='from the error of the velocity to an acceleration, when driven',
    ),
    Option(
        name='rate_limit',
        default=20.0,
        low=1e-3,
        high=1e4,
        text='greatest rate of a mass on its rail, when driven (units of the rail a second)',
    ),
)

PENDULUM: tuple[Option, ...] = (
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
)

SPIN_ROLLING: tuple[Option, ...] = (
    *weight_options(SPIN_ROLLING_WEIGHTS, SPIN_ROLLING_ATTITUDE),
    Option(
        name='rolling_rate',
        default=1.0,
        low=1e-6,
        high=100.0,
        unit='m/s',
        text='greatest rolling rate delta',
    ),
    Option(
        name='spin_rate',
        default=10.0,
        low=0.0,
        high=1e4,
        unit='rad/s',
        text='greatest spin about the normal of the plane',
    ),
)
