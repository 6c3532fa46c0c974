"""The serialized form that the fast path writes and reads is that of rclpy."""

from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rolling_dynamics.errors import ParameterError
from rolling_node_kit.cdr import decode_odometry, OdometryEncoder

FRAMES = [(a * 'w', b * 'h') for a in range(4) for b in range(9)]


def numbers(message):
    """Return where q (w, x, y, z), p, w and v stand in a message."""
    pose, twist = message.pose.pose, message.twist.twist
    vectors = (pose.position, twist.angular, twist.linear)
    return [(pose.orientation, n) for n in 'wxyz'] + [(v, n) for v in vectors for n in 'xyz']


@pytest.fixture
def state():
    return np.random.default_rng(1).normal(size=13)


@pytest.mark.parametrize(('frame', 'child'), FRAMES)
def test_encoder_writes_what_rclpy_reads(state, frame, child):
    data = OdometryEncoder(frame, child).encode(12_345_678_901, state.tolist())
    message = deserialize_message(data, Odometry)
    assert (message.header.frame_id, message.child_frame_id) == (frame, child)
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (12, 345_678_901)
    assert [getattr(part, name) for part, name in numbers(message)] == state.tolist()


def test_covariances_are_those_of_rclpy(state):
    known = np.random.default_rng(2).normal(size=(2, 6, 6))
    data = OdometryEncoder('w', 'hand').encode(1, state.tolist(), known)
    message = deserialize_message(data, Odometry)
    assert message.pose.covariance.tolist() == known[0].ravel().tolist()
    assert message.twist.covariance.tolist() == known[1].ravel().tolist()
    assert [getattr(part, name) for part, name in numbers(message)] == state.tolist()
    assert decode_odometry(serialize_message(message))[2].tolist() == known.tolist()
    assert not decode_odometry(OdometryEncoder('w', 'hand').encode(1, state.tolist()))[2].any()


@pytest.mark.parametrize('lost', [1, 36 * 8, 500, 700])
def test_a_short_message_is_refused(state, lost):
    with pytest.raises(ParameterError, match='odometry: the message is too short'):
        decode_odometry(OdometryEncoder('w', '').encode(1, state.tolist())[:-lost])


@pytest.mark.parametrize(('frame', 'child'), FRAMES)
def test_decoder_reads_what_rclpy_writes(state, frame, child):
    message = Odometry(child_frame_id=child)
    message.header.frame_id = frame
    message.pose.covariance = [7.0] * 36
    message.header.stamp.sec, message.header.stamp.nanosec = 5, 3
    for (part, name), value in zip(numbers(message), state.tolist(), strict=True):
        setattr(part, name, value)
    stamp, values, _ = decode_odometry(serialize_message(message))
    assert stamp == 5_000_000_003
    assert values.tolist() == state.tolist()


@pytest.mark.parametrize('data', [b'', b'\0\1\0\0', b'\0\0' + bytes(800)])
def test_what_is_no_odometry_is_refused(data):
    with pytest.raises(ParameterError, match='odometry'):
        decode_odometry(data)
