"""Fast readers and writers of messages of the hardware agree with rclpy."""

from operator import attrgetter
from types import SimpleNamespace

from geometry_msgs.msg import AccelStamped, PoseWithCovarianceStamped
import numpy as np
from numpy.testing import assert_array_equal
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rolling_dynamics.ball_balancer.rig_file import CameraSection
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.topics import SensorReader, SensorTopic, TYPES
from rolling_node_kit.cdr import (
    ACCEL,
    accel_values,
    decode_stamped,
    FIELDS,
    hand_control,
    JointReader,
    JointStateEncoder,
    POSE,
    StampedEncoder,
)
from rolling_node_kit.conversions import accel_to_control, nanoseconds_to_time
from sensor_msgs.msg import JointState

STAMP = 12_345_678_901
NAMES = ['joint_1', 'j2', 'shoulder']
FRAMES = [k * 'h' for k in range(9)]
RNG = np.random.default_rng(3)


def joints_to_message(names, **fields):
    out = JointState(name=names, **{k: v.tolist() for k, v in fields.items()})
    out.header.stamp = nanoseconds_to_time(STAMP)
    return out


@pytest.mark.parametrize('frame', FRAMES)
def test_accelerations(frame):
    u = RNG.normal(size=6).tolist()
    data = StampedEncoder(frame, ACCEL).encode(STAMP, accel_values(u))
    written = AccelStamped()
    written.header.stamp, written.header.frame_id = nanoseconds_to_time(STAMP), frame
    turning, linear = written.accel.angular, written.accel.linear
    turning.x, turning.y, turning.z, linear.x, linear.y, linear.z = u
    assert deserialize_message(data, AccelStamped) == written
    stamp, name, values = decode_stamped(bytes(serialize_message(written)), ACCEL)
    assert (stamp, name) == (STAMP, frame)
    assert_array_equal(hand_control(values), accel_to_control(written.accel))


@pytest.mark.parametrize('frame', FRAMES)
def test_poses_with_covariance(frame):
    p, q, C = RNG.normal(size=3), np.array([0.5, -0.5, 0.5, 0.5]), RNG.normal(size=(6, 6))
    message = PoseWithCovarianceStamped()
    message.header.stamp, message.header.frame_id = nanoseconds_to_time(STAMP), frame
    position, orientation = message.pose.pose.position, message.pose.pose.orientation
    position.x, position.y, position.z = p.tolist()
    orientation.w, orientation.x, orientation.y, orientation.z = q.tolist()
    message.pose.covariance = C.ravel().tolist()
    stamp, name, values = decode_stamped(bytes(serialize_message(message)), POSE)
    assert (stamp, name) == (STAMP, frame)
    assert_array_equal(values, [*p, *q[[1, 2, 3, 0]], *C.ravel()])
    again = StampedEncoder(frame, POSE).encode(STAMP, values.tolist())
    assert deserialize_message(again, PoseWithCovarianceStamped) == message


ATTRIBUTES = {  # of entries of a sensor: where the message has the numbers, and their covariance
    'pose': {'position': 'pose.pose.position', 'orientation': 'pose.pose.orientation'},
    'odometry': {
        'position': 'pose.pose.position',
        'orientation': 'pose.pose.orientation',
        'linear': 'twist.twist.linear',
        'angular': 'twist.twist.angular',
    },
    'imu': {n: n for n in ('orientation', 'angular_velocity', 'linear_acceleration')},
    'wrench': {'force': 'wrench.force', 'torque': 'wrench.torque'},
}
COVARIANCES = {
    ('pose', 'position'): ('pose.covariance', 6, 0),
    ('odometry', 'position'): ('pose.covariance', 6, 0),
    ('odometry', 'linear'): ('twist.covariance', 6, 0),
    ('odometry', 'angular'): ('twist.covariance', 6, 3),
    ('imu', 'angular_velocity'): ('angular_velocity_covariance', 3, 0),
    ('imu', 'linear_acceleration'): ('linear_acceleration_covariance', 3, 0),
}


@pytest.mark.parametrize('message', ATTRIBUTES)
@pytest.mark.parametrize('frame', FRAMES)
def test_sensors(message, frame):
    entries = tuple(
        Entry(name, tuple(f'{name}_{c}' for c in ('wxyz' if name == 'orientation' else 'xyz')), '')
        for name in ATTRIBUTES[message]
    )
    layout = Layout(entries)
    A, y = RNG.normal(size=(layout.size,) * 2), RNG.normal(size=layout.size)
    sensor = Sensor(
        name='s', output=layout, measure=lambda _: None, covariance=A @ A.T, rate=10.0,
        message=message, topic='s', frame=frame,
    )  # fmt: skip
    sent = []
    node = SimpleNamespace(writer=lambda *_: SimpleNamespace(publish=sent.append))
    SensorTopic(node, sensor).publish(y, STAMP)
    written = deserialize_message(sent[0], TYPES[message])
    assert written.header.frame_id == frame
    for entry in entries:
        field = attrgetter(ATTRIBUTES[message][entry.name])(written)
        numbers = [getattr(field, c[-1]) for c in entry.components]
        assert_array_equal(numbers, y[layout.slice(entry.name)])
        if (message, entry.name) in COVARIANCES:
            name, row, k = COVARIANCES[message, entry.name]
            C = np.array(attrgetter(name)(written)).reshape(row, row)[k : k + 3, k : k + 3]
            assert_array_equal(C, sensor.covariance[(layout.slice(entry.name),) * 2])
    if message == 'odometry':
        written.child_frame_id = 'base'
    stamp, value = SensorReader(sensor).read(bytes(serialize_message(written)))
    assert stamp == STAMP
    assert_array_equal(value, y)
    if frame:
        with pytest.raises(ParameterError, match=f"frame is '{frame}'; 'other/{frame}' is needed"):
            SensorReader(sensor, 'other/').read(bytes(serialize_message(written)))


def test_a_frame_that_shows_no_ball_is_read_where_one_may_miss_it():
    camera = CameraSection().sensor()
    sent = PoseWithCovarianceStamped()
    sent.pose.pose.position.x = np.nan
    data = bytes(serialize_message(sent))
    with pytest.raises(ParameterError, match='is not finite'):
        SensorReader(camera).read(data)
    _, y = SensorReader(camera, may_miss=True).read(data)
    assert_array_equal(y, [np.nan, 0.0, 0.0])
    sent.pose.pose.position.x = np.inf
    with pytest.raises(ParameterError, match='is not finite'):
        SensorReader(camera, may_miss=True).read(bytes(serialize_message(sent)))


@pytest.mark.parametrize('data', [b'', b'\0\1\0\0', b'\0\0' + bytes(800), b'\0\1\0\0' + bytes(30)])
def test_what_is_no_such_message_is_refused(data):
    with pytest.raises(ParameterError):
        decode_stamped(data, ACCEL)
    with pytest.raises(ParameterError):
        JointReader(NAMES).read(data)


@pytest.mark.parametrize('fields', [FIELDS, ('effort',), ('position', 'velocity')])
@pytest.mark.parametrize('names', [NAMES, ['a'], ['ab', 'cde']])
def test_joints_written_are_read_by_rclpy(names, fields):
    given = {f: RNG.normal(size=len(names)) for f in fields}
    data = JointStateEncoder(names, fields).encode(STAMP, *(v.tolist() for v in given.values()))
    assert deserialize_message(data, JointState) == joints_to_message(names, **given)


@pytest.mark.parametrize('frame', FRAMES)
@pytest.mark.parametrize('fields', [FIELDS, ('effort',), ('position', 'velocity')])
def test_joints_are_read_in_any_order_and_beside_others(frame, fields):
    names = ['wheel', 'shoulder', 'joint_1', 'x', 'j2']
    reader = JointReader(NAMES)
    for _ in range(2):
        given = {f: RNG.normal(size=5) for f in fields}
        message = joints_to_message(names, **given)
        message.header.frame_id = frame
        found = reader.read(bytes(serialize_message(message)))
        assert found.stamp == STAMP
        for field in FIELDS:
            if field in fields:
                assert_array_equal(found.needed(field), given[field][[2, 4, 1]])
            else:
                assert getattr(found, field) is None


def test_joints_that_are_missing_are_named():
    reader = JointReader(NAMES)
    reader.read(JointStateEncoder(NAMES, ()).encode(STAMP))
    with pytest.raises(ParameterError, match='position are needed, got none'):
        reader.read(JointStateEncoder(NAMES, ()).encode(STAMP)).needed('position')
    with pytest.raises(ParameterError, match=r"of \['joint_1', 'j2', 'shoulder'\] are needed"):
        reader.read(JointStateEncoder(NAMES[:2], ()).encode(STAMP))
    short = joints_to_message(NAMES, position=np.zeros(2))
    with pytest.raises(ParameterError, match='got 2 values of 3 joints'):
        reader.read(bytes(serialize_message(short)))
