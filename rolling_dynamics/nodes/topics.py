"""Topics of sensors, actuators and contacts: numbers as standard messages, and back."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import TypeAlias

from geometry_msgs.msg import PoseWithCovarianceStamped, WrenchStamped
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.serialization import deserialize_message
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator, on_one_topic, Sensor
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, quoted
from rolling_node_kit.cdr import (
    decode_stamped,
    JointReader,
    JointStateEncoder,
    POSE,
    StampedEncoder,
)
from rolling_node_kit.cdr import FIELDS as JOINT_FIELDS
from rolling_node_kit.conversions import (
    cloud_to_points,
    nanoseconds_to_time,
    points_to_cloud,
    time_to_nanoseconds,
)
from rolling_node_kit.qos import SENSOR_DATA, STREAM_WRITER
from rolling_node_kit.suite_node import SuiteNode
from sensor_msgs.msg import Imu, JointState, PointCloud2
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

AXES = 'xyz'
Command: TypeAlias = 'JointState | JointTrajectory | Float64MultiArray'
TYPES = {
    'pose': PoseWithCovarianceStamped,
    'odometry': Odometry,
    'imu': Imu,
    'wrench': WrenchStamped,
    'joint_states': JointState,
    'points': PointCloud2,
}
COMMANDS = {  # carriers of commands: type, and the usual topic of ros2_control
    'joint_state': (JointState, 'robot_joint_command'),
    'array': (Float64MultiArray, 'joint_group_controller/commands'),
    'trajectory': (JointTrajectory, 'joint_trajectory_controller/joint_trajectory'),
}
OF_JOINTS = {'positions': 'position', 'velocities': 'velocity'}  # fields of a JointState
# of messages of a header and floats: their number, that of a twist with covariance behind a pose
FLOATS = {'pose': POSE, 'odometry': POSE + 42, 'imu': 37, 'wrench': 6}
# Of an entry of a layout: index of its first float, and its covariance with row length and offset.
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

    def __init__(self, sensor: Sensor, prefix: str = '', *, may_miss: bool = False) -> None:
        """
        Expect the message of this sensor.

        Parameters
        ----------
        sensor
            The sensor. A message of another frame is rejected, where it names one.
        prefix
            Prefix of the frame.
        may_miss
            Whether a message without a measurement is read, too: its values are NaN.

        """
        self._sensor, self._may_miss = sensor, may_miss
        self._frames = ('', f'{prefix}{sensor.frame}')
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
            It is not such a message, or its numbers cannot be measured ones.

        """
        message, output, frame = self._sensor.message, self._sensor.output, ''
        if message == 'joint_states':
            reading = self._joints.read(data)
            y, stamp = np.concatenate([reading.needed(e.name) for e in output.entries]), reading[0]
        elif message == 'points':
            cloud = deserialize_message(data, PointCloud2)
            stamp, y = time_to_nanoseconds(cloud.header.stamp), cloud_to_points(cloud).ravel()
            frame = cloud.header.frame_id
        else:
            count, child = FLOATS[message], message == 'odometry'
            stamp, frame, values = decode_stamped(data, count, child=child)
            y = values[self._where]
        if self._sensor.frame and frame not in self._frames:
            raise ParameterError(f'its frame is {quoted(frame)}; {self._frames[1]!r} is needed')
        if problem := '' if self._may_miss and np.isnan(y).any() else output.problem(y):
            raise ParameterError(f'the measurement {problem}')
        return stamp, y


class CommandTopic:
    """
    Commands to a machine, for its actuators, or by its controls where none has a topic.

    Attributes
    ----------
    kind, name
        Type and name of the topic.
    stamped
        Whether a command has the time when it is to act.

    """

    def __init__(self, system: RollingSystem, actuators: Sequence[Actuator]) -> None:
        """Take the machine."""
        self.kind, self.name = JointState, 'robot/control'
        self._names, self._field = list(system.control.names), 'effort'
        if given := on_one_topic(system, actuators):
            self.kind, _ = COMMANDS[given[0].carrier]
            self.name, self._field = given[0].topic, given[0].message
            self._names = [joint for actuator in given for joint in actuator.joints]
        if self.kind is JointState:
            self._field = OF_JOINTS.get(self._field, self._field)
        self.stamped = self.kind is not Float64MultiArray

    def message(self, u: Array, stamp: int) -> Command:
        """Return a command, in the units of the control, that is to act at a time [ns]."""
        if self.kind is Float64MultiArray:
            return Float64MultiArray(data=u.tolist())
        if self.kind is JointState:
            out = JointState(name=self._names, **{self._field: u.tolist()})
        else:
            point = JointTrajectoryPoint(**{self._field: u.tolist()})
            out = JointTrajectory(joint_names=self._names, points=[point])
        out.header.stamp = nanoseconds_to_time(stamp)
        return out

    def read(self, message: Command) -> tuple[int, Array]:
        """
        Return stamp [ns], 0 of none, and control, in its units.

        Raises
        ------
        ParameterError
            The message has other names, more or fewer numbers, or one that is not finite.

        """
        names, what = self._names, self._field
        if self.kind is Float64MultiArray:
            numbers = message.data
        elif self.kind is JointState:
            names, numbers = message.name, getattr(message, what)
        elif message.points:
            names, numbers = message.joint_names, getattr(message.points[-1], what)
        else:
            raise ParameterError('it has no points')
        if len(numbers) != len(names):
            raise ParameterError(f'it has {len(numbers)} values of {what} for {len(names)} names')
        if sorted(names) != sorted(self._names):
            raise ParameterError(f'its names are {list(names)}, {self._names} are needed')
        by_name = dict(zip(names, numbers, strict=True))
        u = np.array([by_name[name] for name in self._names], dtype=float)
        if not math.isfinite(u.sum()):
            raise ParameterError('it is not finite')
        return time_to_nanoseconds(message.header.stamp) if self.stamped else 0, u


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


def ratio(a: float, b: float) -> float:
    """Return a / b, load over capacity; infinite where the capacity is zero."""
    return a / b if b > 0.0 else (0.0 if a == 0.0 else float('inf'))


def body_matrix(body: Array) -> Array:
    """Return the homogeneous matrix of q (w, x, y, z) and p, the first 7 of the numbers."""
    w, x, y, z = body[:4].tolist()
    X = np.eye(4)
    X[:3, :3] = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    X[:3, 3] = body[4:7]
    return X
