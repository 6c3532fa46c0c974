"""States of a robot from the wire: names as bytes, numbers where they stand, bad ones refused."""

import math

from builtin_interfaces.msg import Time
import numpy as np
from numpy.testing import assert_array_equal
import pytest
from rclpy.serialization import serialize_message
from rolling_dynamics.contract.rolling_system import Entry, Layout, quaternion_entry
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.nodes.measurements import RobotStates
from rolling_node_kit.cdr import JointReader
from sensor_msgs.msg import JointState

NAMES = ['u', 'path_along', 'q_w']
LAYOUT = Layout(
    (
        Entry('p', ('p_x',), 'm'),
        quaternion_entry('q_WB'),
        Entry('a', ('a',), 'rad', kind='angle'),
    )
)


def message(position, names=NAMES, frame='odom', stamp=(3, 5), **more):
    out = JointState(name=list(names), position=list(position), **more)
    out.header.stamp = Time(sec=stamp[0], nanosec=stamp[1])
    out.header.frame_id = frame
    return bytes(serialize_message(out))


@pytest.mark.parametrize('frame', ['', 'o', 'od', 'odo', 'odom', 'robot_7/odom'])
@pytest.mark.parametrize('names', [['a'], ['ab', 'c'], NAMES, ['abc', 'defg', 'hijkl', 'm']])
def test_numbers_are_read_wherever_they_stand(frame, names):
    rng = np.random.default_rng(len(frame))
    decoder = JointReader(names)
    for k in range(3):
        x = rng.normal(size=len(names))
        effort = rng.normal(size=len(names))
        data = message(x, names, frame if k < 2 else frame + '_', (k, 10 * k), effort=effort)
        stamp, found, velocity, efforts = decoder.read(data)
        assert velocity is None
        assert_array_equal(efforts, effort)
        assert stamp == k * 1_000_000_000 + 10 * k
        assert_array_equal(found, x)


@pytest.mark.parametrize(
    ('data', 'text'),
    [
        (message([1.0, 2.0, 3.0], ['u', 'path_aside', 'q_w']), r"needed, got \['u', 'path_aside'"),
        (message([1.0, 2.0], NAMES[:2]), r"needed, got \['u', 'path_along'"),
        (message([1.0, 2.0]), 'got 2 values of 3 joints'),
        (message([1.0, 2.0, 3.0])[:40], 'too short'),
        (b'', 'too short'),
        (b'\x00\x00' + bytes(60), 'big-endian'),
    ],
    ids=['other name', 'too few', 'numbers', 'cut', 'empty', 'order of bytes'],  # not of padding
)
def test_other_messages_are_refused(data, text):
    decoder = JointReader(NAMES)
    decoder.read(message([0.0, 0.0, 0.0]))
    with pytest.raises(ParameterError, match=text):
        decoder.read(data)
    decoder.read(message([0.0, 0.0, 0.0]))


def test_newest_state_is_kept_with_a_unit_quaternion():
    states = RobotStates(LAYOUT)
    assert states.state() is None
    assert states.age == math.inf
    for k in range(3):
        states.take(message([k, 1.001, 0, 0, 0, 1e8], LAYOUT.names, stamp=(k, 0)))
    stamp, x = states.state()
    assert (stamp, states.count) == (2_000_000_000, 3)
    assert_array_equal(x, [2, 1, 0, 0, 0, 1e8])
    assert_array_equal(states.state_near(900_000_000), [1, 1, 0, 0, 0, 1e8])


@pytest.mark.parametrize(
    ('position', 'text'),
    [
        ([math.nan, 1, 0, 0, 0, 0], 'robot/state is not finite'),
        ([1e308, 1, 0, 0, 0, 0], 'robot/state has p_x of 1e+308; at most 1e+06 is believed'),
        ([0, 1, 0, 0, 0, -2e9], 'robot/state has a of -2e+09; at most 1e+09 is believed'),
        ([0, 0, 0, 0, 0, 0], 'robot/state has a quaternion of norm 0; a unit quaternion is'),
        ([0, 1, 0, 0, 0], 'robot/state: joint states with position of '),
        ([0, 1, 0, 0, 0], 'got 5 values of 6 joints'),
    ],
)
def test_bad_state_is_refused_and_told(position, text):
    states = RobotStates(LAYOUT)
    states.take(message(position, LAYOUT.names))
    assert states.state() is None
    assert text in states.refused
