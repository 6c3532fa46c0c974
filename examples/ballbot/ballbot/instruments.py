"""Sensors and drives of the robot."""

import casadi as ca
import numpy as np
from rolling_dynamics.contract.instruments import Actuator, MotionExpressions, Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry, vector_entry

DRIVES = tuple(f'drive_{axis}' for axis in 'xyz')


def turning(at: MotionExpressions) -> ca.SX:
    """Return the angular velocity of the ball as the drives, fixed to the body, see it."""
    return at.body('body')[:3, :3].T @ at.state['w_WS_W'] - at.state['w_WB_B']


IMU = Sensor(
    name='imu',
    output=Layout(
        (quaternion_entry('orientation'), vector_entry('angular_velocity', 'rad/s', 'B', 'gyro'))
    ),
    measure=lambda at: ca.vertcat(at.state['q_WB'], at.state['w_WB_B']),
    covariance=np.diag([2.5e-7] * 4 + [4e-6] * 3),
    rate=500.0,
    delay=2e-3,
    message='imu',
    topic='imu',
    frame='body_link',
)
ENCODERS = Sensor(
    name='encoders',
    output=Layout((Entry('velocity', tuple(f'{d}_velocity' for d in DRIVES), 'rad/s'),)),
    measure=turning,
    covariance=1e-4 * np.eye(3),
    rate=500.0,
    delay=2e-3,
    message='joint_states',
    topic='drive_states',
)
MOTORS = Actuator(
    name='motors',
    control='torque',
    joints=DRIVES,
    limits=np.full(3, 8.0),
    dead_time=2e-3,
    message='effort',
    topic='drive_command',
)
