"""Measurements of sensors as standard messages."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_node_kit.conversions import nanoseconds_to_time
from sensor_msgs.msg import Imu, JointState

AXES = 'xyz'
TYPES = {
    'pose': PoseWithCovarianceStamped,
    'odometry': Odometry,
    'imu': Imu,
    'wrench': WrenchStamped,
    'joint_states': JointState,
}
# Of an entry of a layout: the field of the message, and its covariance with row length and offset.
FIELDS = {
    ('pose', 'position'): ('pose.pose.position', 'pose.covariance', 6, 0),
    ('pose', 'orientation'): ('pose.pose.orientation', 'pose.covariance', 6, 3),
    ('odometry', 'position'): ('pose.pose.position', 'pose.covariance', 6, 0),
    ('odometry', 'orientation'): ('pose.pose.orientation', 'pose.covariance', 6, 3),
    ('odometry', 'linear'): ('twist.twist.linear', 'twist.covariance', 6, 0),
    ('odometry', 'angular'): ('twist.twist.angular', 'twist.covariance', 6, 3),
    ('imu', 'orientation'): ('orientation', 'orientation_covariance', 3, 0),
    ('imu', 'angular_velocity'): ('angular_velocity', 'angular_velocity_covariance', 3, 0),
    ('imu', 'linear_acceleration'): (
        'linear_acceleration',
        'linear_acceleration_covariance',
        3,
        0,
    ),
    ('wrench', 'force'): ('wrench.force', '', 3, 0),
    ('wrench', 'torque'): ('wrench.torque', '', 3, 0),
}


def sensor_message(sensor: Sensor, prefix: str = '') -> Any:
    """Return the message of a sensor with its frame and covariance, without a measurement."""
    message = TYPES[sensor.message]()
    message.header.frame_id = f'{prefix}{sensor.frame}' if sensor.frame else ''
    if sensor.message == 'joint_states':
        # components are JOINT_position and the like: the joints of the first entry are all
        entry = sensor.output.entries[0]
        message.name = [c.removesuffix(f'_{entry.name}') for c in entry.components]
        return message
    for entry in sensor.output.entries:
        _, name, row, offset = FIELDS[sensor.message, entry.name]
        where = [AXES.index(c[-1]) for c in entry.components if c[-1] in AXES]
        if not name or len(where) != entry.size:
            continue  # a quaternion has three errors, not four
        block = sensor.covariance[(sensor.output.slice(entry.name),) * 2]
        covariance = attrgetter(name)(message)
        for i, a in enumerate(where):
            for j, b in enumerate(where):
                covariance[row * (offset + a) + offset + b] = float(block[i, j])
    return message


def write_measurement(sensor: Sensor, message: Any, value: Array, stamp: int) -> None:
    """
    Write a measurement into the message of its sensor.

    Parameters
    ----------
    sensor
        The sensor.
    message
        What :func:`sensor_message` returned.
    value
        Measurement, shape (output.size,), in the units of the layout.
    stamp
        When it was taken [ns].

    """
    message.header.stamp = nanoseconds_to_time(stamp)
    for name, numbers in sensor.output.unpack(value).items():
        if sensor.message == 'joint_states':
            setattr(message, name, np.asarray(numbers).tolist())
            continue
        field = attrgetter(FIELDS[sensor.message, name][0])(message)
        components = sensor.output.entry(name).components
        for component, number in zip(components, numbers.tolist(), strict=True):
            setattr(field, component[-1], number)
