"""What a user may choose of the laws of each robot; light, for nodes that run only one of them."""

from __future__ import annotations

from rolling_controller.lqr_options import weight_options
from rolling_controller.option import Option

_TRACKING = {
    'theta': 1.0,
    'theta_rate': 0.1,
    'd_WB': 1.0,
    'w_WB_B': 0.1,
    'p': 10.0,
    'path': 10.0,
    'phi': 1.0,
    'phi_rate': 0.1,
}
POINT_MASS: tuple[Option, ...] = (
    *weight_options(_TRACKING, {k: 1e3 * v for k, v in _TRACKING.items()}, 1e-3),
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
    *weight_options(
        {'contact_s': 100.0, 'd_SO': 10.0}, {'contact_s': 1e5, 'd_SO': 1e4}, control=1.0
    ),
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
