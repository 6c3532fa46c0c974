"""Topics of sensors: their measurements as standard messages, and back."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_node_kit.conversions import cloud_to_points, nanoseconds_to_time, points_to_cloud
from rolling_node_kit.joint_state_codec import FIELDS as JOINT_FIELDS
from rolling_node_kit.joint_state_codec import JointStateEncoder
from rolling_node_kit.qos import SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import Imu, JointState, PointCloud2

AXES = 'xyz'
TYPES = {
    'pose': PoseWithCovarianceStamped,
    'odometry': Odometry,
    'imu': Imu,
    'wrench': WrenchStamped,
    'joint_states': JointState,
    'points': PointCloud2,
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


class SensorTopic:
    """Publisher of the measurements of a sensor."""

    def __init__(self, node: SuiteNode, sensor: Sensor, prefix: str = '') -> None:
        """Create the publisher; a prefix stands before the frame."""
        self._sensor, self._frame = sensor, f'{prefix}{sensor.frame}' if sensor.frame else ''
        joints = sensor.message == 'joint_states'
        qos = STREAM_WRITER if joints else SENSOR_DATA
        self._writer = node.writer(TYPES[sensor.message], sensor.topic, qos)
        if joints:
            # components are JOINT_position and the like: the joints of the first entry are all
            first, fields = sensor.output.entries[0], [e.name for e in sensor.output.entries]
            names = [c.removesuffix(f'_{first.name}') for c in first.components]
            self._encode = JointStateEncoder(names, fields, self._frame).encode
        elif sensor.message != 'points':
            self._message = sensor_message(sensor, self._frame)

    def publish(self, value: Array, stamp: int) -> None:
        """
        Publish a measurement.

        Parameters
        ----------
        value
            Measurement, shape (output.size,), in the units of the layout.
        stamp
            When it was taken [ns].

        """
        sensor, given = self._sensor, self._sensor.output.unpack(value)
        if sensor.message == 'joint_states':
            fields = (given[name].tolist() for name in JOINT_FIELDS if name in given)
            self._writer.publish(self._encode(stamp, *fields))
            return
        time = nanoseconds_to_time(max(stamp, 0))
        if sensor.message == 'points':
            self._writer.publish(points_to_cloud(value.reshape(-1, 3), time, self._frame))
            return
        self._message.header.stamp = time
        for name, numbers in given.items():
            field = attrgetter(FIELDS[sensor.message, name][0])(self._message)
            components = sensor.output.entry(name).components
            for component, number in zip(components, numbers.tolist(), strict=True):
                setattr(field, component[-1], number)
        self._writer.publish(self._message)


def sensor_message(sensor: Sensor, frame: str) -> Any:
    """Return the message of a sensor with its frame and covariance, without a measurement."""
    message = TYPES[sensor.message]()
    message.header.frame_id = frame
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


def read_measurement(sensor: Sensor, message: Any) -> Array:
    """Return the measurement that the message of a sensor carries, in the units of its layout."""
    if sensor.message == 'points':
        return cloud_to_points(message).ravel()
    values = {}
    for entry in sensor.output.entries:
        if sensor.message == 'joint_states':
            values[entry.name] = np.array(getattr(message, entry.name), dtype=float)
            continue
        field = attrgetter(FIELDS[sensor.message, entry.name][0])(message)
        values[entry.name] = np.array([getattr(field, c[-1]) for c in entry.components])
    return sensor.output.pack(**values)
