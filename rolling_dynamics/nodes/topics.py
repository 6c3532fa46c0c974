"""Topics of a simulated robot, and of sensors: measurements as standard messages, and back."""

from __future__ import annotations

import math
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.serialization import deserialize_message
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.markers import RobotMarkers
from rolling_dynamics.nodes.plant_topics import ratio
from rolling_dynamics.nodes.simulated import Slow
from rolling_dynamics.robots import Observation
from rolling_dynamics.robots.emulated_robot import EmulatedRobot
from rolling_dynamics.robots.urdf import robot_urdf
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import (
    decode_stamped,
    JointReader,
    JointStateEncoder,
    OdometryEncoder,
    POSE,
    StampedEncoder,
)
from rolling_node_kit.cdr import FIELDS as JOINT_FIELDS
from rolling_node_kit.conversions import (
    array_to_wrench,
    cloud_to_points,
    matrix_to_transform,
    nanoseconds_to_time,
    points_to_cloud,
    time_to_nanoseconds,
)
from rolling_node_kit.qos import EVENT, LATCHED, SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import Imu, JointState, PointCloud2
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

AXES = 'xyz'
TYPES = {
    'pose': PoseWithCovarianceStamped,
    'odometry': Odometry,
    'imu': Imu,
    'wrench': WrenchStamped,
    'joint_states': JointState,
    'points': PointCloud2,
}
# of messages of a header and floats: their number, that of a twist with covariance behind a pose
FLOATS = {'pose': POSE, 'odometry': POSE + 42, 'imu': 37, 'wrench': 6}
# Of an entry of a layout: where its floats begin, and its covariance with row length and offset.
FIELDS: dict[tuple[str, str], tuple[int, tuple[int, int, int] | None]] = {
    ('pose', 'position'): (0, (7, 6, 0)),
    ('pose', 'orientation'): (3, (7, 6, 3)),
    ('odometry', 'position'): (0, (7, 6, 0)),
    ('odometry', 'orientation'): (3, (7, 6, 3)),
    ('odometry', 'linear'): (POSE, (POSE + 6, 6, 0)),
    ('odometry', 'angular'): (POSE + 3, (POSE + 6, 6, 3)),
    ('imu', 'orientation'): (0, (4, 3, 0)),
    ('imu', 'angular_velocity'): (13, (16, 3, 0)),
    ('imu', 'linear_acceleration'): (25, (28, 3, 0)),
    ('wrench', 'force'): (0, None),
    ('wrench', 'torque'): (3, None),
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
            fields = [e.name for e in sensor.output.entries]
            self._encode = JointStateEncoder(_joints(sensor), fields, self._frame).encode
        elif sensor.message != 'points':
            count, child = FLOATS[sensor.message], '' if sensor.message == 'odometry' else None
            self._floats, self._where = _covariances(sensor), _places(sensor)
            self._stamped = StampedEncoder(self._frame, count, child).encode

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
        sensor, output = self._sensor, self._sensor.output
        if sensor.message == 'joint_states':
            fields = (value[output.slice(n)].tolist() for n in JOINT_FIELDS if n in output)
            self._writer.publish(self._encode(stamp, *fields))
        elif sensor.message == 'points':
            time = nanoseconds_to_time(max(stamp, 0))
            self._writer.publish(points_to_cloud(value.reshape(-1, 3), time, self._frame))
        else:
            self._floats[self._where] = value
            self._writer.publish(self._stamped(max(stamp, 0), self._floats.tolist()))


class SensorReader:
    """Reads the serialized messages of a sensor."""

    def __init__(self, sensor: Sensor) -> None:
        """Expect the message of this sensor."""
        self._sensor = sensor
        if sensor.message == 'joint_states':
            self._joints = JointReader(_joints(sensor))
        elif sensor.message != 'points':
            self._where = _places(sensor)

    def read(self, data: bytes) -> tuple[int, Array]:
        """
        Return stamp [ns] and measurement, shape (output.size,), in the units of its layout.

        Raises
        ------
        ParameterError
            It is not such a message, or its numbers are not finite.

        """
        message, output = self._sensor.message, self._sensor.output
        if message == 'joint_states':
            reading = self._joints.read(data)
            y, stamp = np.concatenate([reading.needed(e.name) for e in output.entries]), reading[0]
        elif message == 'points':
            cloud = deserialize_message(data, PointCloud2)
            stamp, y = time_to_nanoseconds(cloud.header.stamp), cloud_to_points(cloud).ravel()
        else:
            count, child = FLOATS[message], message == 'odometry'
            stamp, _, values = decode_stamped(data, count, child=child)
            y = values[self._where]
        if not math.isfinite(y.sum()):
            raise ParameterError(f'measurements must be finite, got {y.tolist()}')
        return stamp, y


def _joints(sensor: Sensor) -> list[str]:
    """Return the joints: components are JOINT_position and the like, each entry has them all."""
    first = sensor.output.entries[0]
    return [c.removesuffix(f'_{first.name}') for c in first.components]


def _places(sensor: Sensor) -> list[int]:
    """Return where the floats of a message have each number of a measurement."""
    return [
        FIELDS[sensor.message, entry.name][0] + 'xyzw'.index(component[-1])
        for entry in sensor.output.entries
        for component in entry.components
    ]


def _covariances(sensor: Sensor) -> Array:
    """Return the floats of the message of a sensor, with its covariance and no measurement."""
    floats = np.zeros(FLOATS[sensor.message])
    for entry in sensor.output.entries:
        _, covariance = FIELDS[sensor.message, entry.name]
        where = [AXES.index(c[-1]) for c in entry.components if c[-1] in AXES]
        if covariance is None or len(where) != entry.size:
            continue  # a quaternion has three errors, not four
        begin, row, offset = covariance
        block = sensor.covariance[(sensor.output.slice(entry.name),) * 2]
        for i, a in enumerate(where):
            for j, b in enumerate(where):
                floats[begin + row * (offset + a) + offset + b] = block[i, j]
    return floats


def yaw_matrix(yaw: float, position: Array) -> Array:
    """Return the homogeneous matrix of a turn about z [rad] and a position [m]."""
    c, s, X = math.cos(yaw), math.sin(yaw), np.eye(4)
    X[0, :2], X[1, :2], X[:3, 3] = (c, -s), (s, c), position
    return X


def relative_pose(X_AB: Array, X_AC: Array) -> Array:
    """Return X_BC of two poses in A."""
    X, R_BA = np.eye(4), X_AB[:3, :3].T
    X[:3, :3], X[:3, 3] = R_BA @ X_AC[:3, :3], R_BA @ (X_AC[:3, 3] - X_AB[:3, 3])
    return X


class RobotTopics:
    """Publishers of state, odometry, joints, contact, frames and markers."""

    def __init__(self, node: SuiteNode, plant: EmulatedRobot, *, world: str, prefix: str) -> None:
        """
        Create the publishers.

        Parameters
        ----------
        node
            Node that publishes.
        plant
            The robot.
        world
            Name of the frame of the floor.
        prefix
            Put before the name of every frame.

        """
        self._plant, self._prefix = plant, prefix
        self._world = f'{prefix}{world}'

        def stream(kind: type, name: str) -> Any:
            return node.writer(kind, name, STREAM_WRITER)

        view = plant.view
        self._state = stream(JointState, 'robot/state')
        self._state_message = JointState(name=list(view.system.state.names))
        self._state_message.header.frame_id = self._world
        self._odometry = None if view.fixed else stream(Odometry, 'odom')
        self._encode = OdometryEncoder(self._world, f'{prefix}base_link').encode
        self._tf = stream(TFMessage, '/tf')
        self._joints = stream(JointState, 'joint_states') if view.joints else None
        seen = plant.observe()
        self._mu = _friction(plant)
        self._wrench = self._contact_state = None
        if plant.has_wrench:
            self._wrench = stream(WrenchStamped, 'contact/wrench')
            self._contact_state = node.writer(RollingContact, 'contact/state', EVENT)
        force = float(seen.wrench[5]) if plant.has_wrench else None
        self._drawn = RobotMarkers(view, self._frame, force)
        self._markers = stream(MarkerArray, '~/markers')
        node.writer(MarkerArray, '~/surfaces', LATCHED).publish(self._drawn.surfaces())
        described = String(data=robot_urdf(view, self._frame))
        node.writer(String, 'robot_description', LATCHED).publish(described)
        self.slow: Slow = (
            ('contact_rate', self.contact),
            ('tf_rate', self.frames),
            ('marker_rate', self.markers),
        )

    def forget(self) -> None:
        """Start a new path of the contact point."""
        self._drawn.forget()

    def state(self, seen: Observation, stamp: int) -> None:
        """Publish the full state at a time [ns]; the fast part."""
        message = self._state_message
        message.header.stamp = nanoseconds_to_time(stamp)
        message.position = seen.x.tolist()
        self._state.publish(message)
        if self._odometry is None:
            return
        half = 0.5 * seen.yaw
        c, s = math.cos(seen.yaw), math.sin(seen.yaw)
        vx, vy, vz = seen.velocity.tolist()
        body = (math.cos(half), 0.0, 0.0, math.sin(half), *seen.centre.tolist())
        twist = (0.0, 0.0, seen.yaw_rate, c * vx + s * vy, c * vy - s * vx, vz)
        self._odometry.publish(self._encode(stamp, (*body, *twist)))

    def contact(self, seen: Observation, stamp: Time) -> None:
        """Publish joints and contact wrench."""
        if self._joints is not None:
            position, rate = self._plant.joints(seen)
            joints = JointState(name=[f'{self._prefix}{n}' for n in self._plant.view.joints])
            joints.header.stamp = stamp
            joints.position, joints.velocity = position.tolist(), rate.tolist()
            self._joints.publish(joints)
        if self._wrench is not None:
            message = WrenchStamped(wrench=array_to_wrench(_in_base(seen)))
            message.header.stamp, message.header.frame_id = stamp, self._frame('base_footprint')
            self._wrench.publish(message)

    def contact_state(self, seen: Observation, stamp: Time) -> None:
        """Publish mode and margins of the contact."""
        if self._contact_state is None:
            return
        wrench = _in_base(seen)
        tangential, normal = float(np.hypot(wrench[3], wrench[4])), float(wrench[5])
        message = RollingContact(wrench=array_to_wrench(wrench), mode=self._plant.contact_mode)
        message.header.stamp, message.header.frame_id = stamp, self._frame('base_footprint')
        message.gap = max(self._plant.gap(seen), 0.0)
        message.required_friction = ratio(tangential, normal)
        message.friction_utilisation = ratio(tangential, self._mu * normal)
        self._contact_state.publish(message)

    def frames(self, seen: Observation, stamp: Time) -> None:
        """Publish the frames."""
        x, y, z = seen.centre.tolist()
        poses = {'odom': np.eye(4)}
        poses['base_footprint'] = yaw_matrix(seen.yaw, np.array([x, y, 0.0]))
        poses['base_link'] = yaw_matrix(seen.yaw, np.array([x, y, z]))
        links = [('base_footprint', 'odom'), ('base_link', 'base_footprint')]
        for link, X_W in zip(self._plant.view.links, seen.links, strict=True):
            poses[link.name] = X_W
            links.append((link.name, link.parent))
        self._tf.publish(
            TFMessage(
                transforms=[
                    matrix_to_transform(
                        relative_pose(poses[parent], poses[name]),
                        stamp,
                        self._frame(parent),
                        self._frame(name),
                    )
                    for name, parent in links
                ]
            )
        )

    def _frame(self, name: str) -> str:
        return self._world if name == 'odom' else f'{self._prefix}{name}'

    def markers(self, seen: Observation, stamp: Time) -> None:
        """Publish the markers, and mode and margins of the contact."""
        self.contact_state(seen, stamp)
        contact = self._plant.contact_point(seen)
        self._markers.publish(self._drawn.update(stamp, contact, _in_base(seen)[3:6]))


def _in_base(seen: Observation) -> Array:
    """Return the wrench in the axes of ``base_footprint``, torque and force."""
    R = yaw_matrix(seen.yaw, np.zeros(3))[:3, :3]
    return np.concatenate([R.T @ seen.wrench[:3], R.T @ seen.wrench[3:]])


def _friction(plant: EmulatedRobot) -> float:
    """Return the coefficient of static friction; infinite where the model has none."""
    layout, p = plant.view.system.parameters, plant.emulation.p
    return float(p[layout.slice('mu')][0]) if 'mu' in layout else math.inf
