"""The estimator node with fake encoders and a fake vision bridge."""

from itertools import pairwise
import math
import re

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseWithCovarianceStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterEvent
from rolling_hw_interface.object_estimator import BEGIN, ENABLED, steps_in
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.cdr import POSE, StampedEncoder
from rolling_node_kit.conversions import nanoseconds_to_time
from rolling_node_kit.parameters import parameter_values
from rolling_node_kit.qos import (
    EVENT,
    LATCHED,
    LOG,
    SENSOR_DATA,
    STREAM_READER,
    STREAM_WRITER,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Int64MultiArray

ESTIMATOR = 'rolling_hw_interface.nodes.estimator_node'
START = [-1.1513490, 1.7197844, -2.1392317]  # the hand level at the origin of the world
AHEAD = 0.3  # the camera's clock [s]
SETTINGS = {
    'scenario_file': 'laboratory_flat.yaml',
    'rate': 100.0,
    'filter.planar': True,
    'least_latency': 0.01,
    'vision_timeout': 0.5,
    'diagnostics_period': 0.1,
}


class FakeSensors:
    """Encoders at rest, and images of an object at rest that are 10 ms old."""

    def __init__(self, peer):
        self.blind, self.frame, self._peer = False, 'world', peer
        node = peer.node
        self._joints = node.create_publisher(JointState, 'robot_joint_states', STREAM_WRITER)
        self._poses = node.create_publisher(
            PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
        )

    def tell(self):
        now = self._peer.node.get_clock().now().nanoseconds
        joints = JointState(name=['joint_1', 'joint_2', 'joint_3'], position=START)
        joints.velocity = [0.0] * 3
        joints.header.stamp = nanoseconds_to_time(now)
        self._joints.publish(joints)
        if self.blind:
            return
        half = -math.pi / 4
        covariance = np.diag([1e-8] * 3 + [1e-5] * 3).ravel()
        numbers = (0.0, 0.0, 0.0252, 0.0, math.sin(half), 0.0, math.cos(half), *covariance)
        encode = StampedEncoder(self.frame, POSE).encode
        self._poses.publish(encode(now - 10_000_000 + round(AHEAD * 1e9), numbers))


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(ESTIMATOR, params=SETTINGS).wait_for('laboratory_flat')


@pytest.fixture(scope='module')
def one_laboratory(peer, node):
    return FakeSensors(peer)


@pytest.fixture
def sensors(peer, one_laboratory):
    with peer.every(0.01, one_laboratory.tell):
        yield one_laboratory
    one_laboratory.blind, one_laboratory.frame = False, 'world'


def health(peer, text, holds=lambda _: True):
    def accept(message):
        status = message.status[0]
        values = {v.key: v.value for v in status.values}
        return status.name == 'estimator' and re.search(text, status.message) and holds(values)

    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=accept)[0]


def stamp_of(message):
    return message.header.stamp.sec, message.header.stamp.nanosec


def test_object_and_hand_come_with_equal_stamps(peer, sensors):
    objects = peer.collect(Odometry, 'object/odometry', STREAM_READER)
    p, q = objects[0].pose.pose.position, objects[0].pose.pose.orientation
    assert [p.x, p.y, p.z] == pytest.approx([0, 0, 0.0252], abs=1e-3)
    assert 2 * math.atan2(q.y, q.w) == pytest.approx(-math.pi / 2, abs=0.02)
    hands, bodies = set(), set()
    take_hand = lambda m: hands.add(stamp_of(m)) or True  # noqa: E731
    take_body = lambda m: bodies.add(stamp_of(m)) or len(hands & bodies) > 3  # noqa: E731
    subscription = peer.node.create_subscription(
        Odometry, 'hand/odometry', take_hand, STREAM_READER
    )
    peer.collect(Odometry, 'object/odometry', STREAM_READER, accept=take_body)
    peer.node.destroy_subscription(subscription)
    hand = peer.collect(Odometry, 'hand/odometry', STREAM_READER)[0]
    for known, most in ((hand.pose, 1e-4), (hand.twist, 0.1)):  # by the counts of encoders
        assert 0.0 < np.diag(np.reshape(known.covariance, (6, 6))).max() < most**2


def test_contact_and_clock_are_known(peer, sensors):
    contact = peer.collect(RollingContact, 'contact/state', EVENT)[0]
    assert contact.mode == RollingContact.MODE_ROLLING
    assert contact.gap == pytest.approx(0.0, abs=1e-3)
    coordinates = peer.collect(JointState, 'contact/coordinates', STREAM_READER)[0]
    values = dict(zip(coordinates.name, coordinates.position, strict=True))
    assert values['u_h'] == pytest.approx(0.0, abs=2e-3)
    # once an image came in time: what comes late says nothing of the clock
    ahead = pytest.approx(AHEAD, abs=0.01)
    health(peer, 'rolling', lambda values: float(values['camera ahead [s]']) == ahead)


def test_steps_and_parameters_are_logged_for_a_replay(peer, sensors):
    values = parameter_values(peer.collect(ParameterEvent, 'estimator/settings', LATCHED)[0])
    assert {name: values[name] for name in SETTINGS} == SETTINGS
    log = peer.collect(Int64MultiArray, 'estimator/steps', LOG)[0]
    steps = list(steps_in(log.data))
    assert steps[0].flags == BEGIN | ENABLED  # latched: a recorder that comes late has it too
    assert sum(len(step.joints) for step in steps) > 0
    assert all(a.now < b.now for a, b in pairwise(steps))


def test_blindness_ends_the_object_and_is_told(peer, sensors):
    peer.collect(Odometry, 'object/odometry', STREAM_READER)
    sensors.blind = True
    health(peer, 'the last image is|no object was seen')  # what went astray is given up
    objects = []
    reader = peer.node.create_subscription(
        Odometry, 'object/odometry', objects.append, STREAM_READER
    )
    peer.collect(Odometry, 'hand/odometry', STREAM_READER, 20)
    peer.node.destroy_subscription(reader)
    assert not objects
    sensors.blind = False
    peer.collect(Odometry, 'object/odometry', STREAM_READER)


def test_pose_of_another_frame_is_refused(peer, sensors):
    sensors.frame = 'camera'
    health(peer, "pose in frame 'camera', 'world' is needed")


def test_no_joint_states_are_told(peer, node):
    health(peer, 'no joint states')


def test_missing_scenario_is_told(run_process):
    node = run_process(ESTIMATOR, params={'scenario_file': 'nowhere.yaml'})
    node.wait_for("cannot configure: no file 'nowhere.yaml'")
    assert node.stop() == 0
