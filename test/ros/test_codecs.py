"""Fast readers and writers of messages of the hardware agree with rclpy."""

from geometry_msgs.msg import AccelStamped, PoseWithCovarianceStamped
import numpy as np
from numpy.testing import assert_array_equal
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import (
    ACCEL,
    accel_values,
    decode_stamped,
    hand_control,
    POSE,
    StampedEncoder,
)
from rolling_node_kit.conversions import accel_to_control, nanoseconds_to_time
from rolling_node_kit.joint_state_codec import FIELDS, JointReader, JointStateEncoder
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
