"""The motor bridge node between a fake controller and fake motors."""

import math
import threading
from xml.etree import ElementTree as ET

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped
import pytest
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, STREAM_READER, STREAM_WRITER
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory

BRIDGE = 'rolling_hw_interface.nodes.motor_bridge_node'
NAMES = ['joint_1', 'joint_2', 'joint_3']
START = [-1.1513490, 1.7197844, -2.1392317]
SETTINGS = {
    'rate': 200.0,
    'drive.mode': 'velocity',
    'drive.command_timeout': 0.1,
    'drive.state_timeout': 1.5,  # a busy machine stands still for tenths of a second
    'drive.stop_time': 0.2,
    'drive.stiffness': 0.01,  # commands say of the reference, however late the fake is
    'drive.tracking_limit': 1.0,
    'drive.stall_distance': 0.5,
    'diagnostics_period': 0.1,
}
AT_REST = 40  # slow commands in a row, in 0.2 s: one that swings is at rest for an instant


class FakeMotors:
    """Turns commanded rates into angles at once, and keeps every command."""

    def __init__(self, peer):
        self.q, self.qd, self.lost, self.silent = list(START), [0.0] * 3, None, False
        self.commands, self._stamp = [], None
        node = peer.node
        self._out = node.create_publisher(JointState, 'robot_joint_states', STREAM_WRITER)
        self._in = node.create_subscription(JointState, 'robot_joint_command', self._take, COMMAND)
        self._node = node

    def _take(self, message):
        stamp = seconds(message)
        if self._stamp is not None:
            self.q = [q + (stamp - self._stamp) * v for q, v in zip(self.q, self.qd, strict=True)]
        self._stamp, self.qd = stamp, list(message.velocity)
        self.commands.append((stamp, self.qd))

    def tell(self):
        if self.silent:
            return
        message = JointState(name=NAMES, position=list(self.q), velocity=list(self.qd))
        message.header.stamp = self._node.get_clock().now().to_msg()
        if self.lost is not None:
            message.position[self.lost] = float('nan')
        self._out.publish(message)


@pytest.fixture(scope='module')
def node(run_process):
    return run_process(BRIDGE, params=SETTINGS).wait_for('driving joint_1')


@pytest.fixture(scope='module')
def one_arm(peer, node):
    made = FakeMotors(peer)
    with peer.every(0.01, made.tell):
        yield made


@pytest.fixture
def motors(peer, one_arm):
    one_arm.lost, one_arm.silent = None, False
    peer.collect(JointState, 'joint_states', STREAM_READER, 5)
    assert peer.call(SetBool, 'motor_bridge/enable', SetBool.Request(data=True)).success
    return one_arm


@pytest.fixture
def driving(peer, motors):
    """A controller that commands until it is asked to be silent."""
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)
    silent = threading.Event()

    def command():
        if not silent.is_set():
            message = AccelStamped()
            now = peer.node.get_clock().now()
            message.header.stamp = now.to_msg()
            message.accel.linear.x = 0.4 * math.cos(6e-9 * now.nanoseconds)  # to and fro
            publisher.publish(message)

    with peer.every(0.01, command):
        wait_for_health(peer, 'driving')
        yield silent


def seconds(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def is_of_bridge(text):
    return lambda m: m.status[0].name == 'motor_bridge' and text in m.status[0].message


def wait_for_health(peer, text):
    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=is_of_bridge(text))


def test_silent_controller_is_followed_by_a_stop_in_the_stated_time(
    peer, node, motors, driving, fault_row
):
    """The time that test/hw_interface/test_motor_bridge.py measures, by a clock of its own."""
    assert 'stops within 0.3 s of the last command' in node.text
    fast = peer.collect(
        JointState,
        'robot_joint_command',
        COMMAND,
        accept=lambda m: max(map(abs, m.velocity)) > 0.1,
    )
    assert fast[0].name == NAMES
    told = fault_row('the controller falls silent (timeout 0.1 s, time to stop 0.2 s)')
    driving.set()
    (found,) = wait_for_health(peer, 'holding: the command is')
    told(found.status[0].message)
    slow = []

    def rests(message):
        slow.append(max(map(abs, message.velocity)) < 0.02)
        return len(slow) >= AT_REST and all(slow[-AT_REST:])

    assert peer.collect(JointState, 'robot_joint_command', COMMAND, accept=rests)


def test_stop_service_stops_and_enable_takes_up_work(peer, motors, driving):
    answer = peer.call(Trigger, 'motor_bridge/stop', Trigger.Request())
    assert 'at rest within 0.2 s' in answer.message
    wait_for_health(peer, 'stopped: asked to stop')
    assert peer.call(SetBool, 'motor_bridge/enable', SetBool.Request(data=True)).success
    wait_for_health(peer, 'driving')


def test_lost_encoder_releases_the_motors_and_is_told(peer, motors, driving, fault_row):
    told = fault_row('an encoder gives NaN')
    motors.lost = 1
    (found,) = wait_for_health(peer, 'joint 2 gives no angle')
    told(f'motors released: {found.status[0].message}')
    count = len(motors.commands)
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, 2, accept=is_of_bridge('stopped'))
    assert len(motors.commands) <= count + 1
    assert motors.commands[-1][1] == [0.0, 0.0, 0.0]
    motors.lost = None
    assert peer.call(SetBool, 'motor_bridge/enable', SetBool.Request(data=True)).success
    wait_for_health(peer, 'driving')


def test_silent_motors_are_a_fault(peer, motors, driving, fault_row):
    told = fault_row('the motors send no joint states (timeout 1.5 s)')
    motors.silent = True
    (found,) = wait_for_health(peer, 'the joint states are')
    told(found.status[0].message)
    motors.silent = False
    peer.collect(JointState, 'joint_states', STREAM_READER)
    assert peer.call(SetBool, 'motor_bridge/enable', SetBool.Request(data=True)).success


@pytest.mark.parametrize(
    ('frame', 'value', 'text'),
    [('world', 1.0, "frame 'world' rejected"), ('', float('nan'), 'not finite')],
)
def test_bad_command_moves_nothing_and_is_told(peer, motors, frame, value, text, fault_row):
    rests = lambda m: max(map(abs, m.velocity)) < 0.001  # noqa: E731  after what was before
    peer.collect(JointState, 'robot_joint_command', COMMAND, accept=rests)
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)
    message = AccelStamped()
    message.header.frame_id, message.accel.linear.x = frame, value
    told = fault_row(f'a command of {value} m/s^2 in frame {frame!r}')
    with peer.every(0.02, lambda: publisher.publish(message)):
        (found,) = wait_for_health(peer, text)
    told(f'nothing moves: {found.status[0].message}')
    assert max(map(abs, motors.commands[-1][1])) < 0.02


def test_frames_form_the_chain_of_the_arm(peer, motors):
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    assert [(t.header.frame_id, t.child_frame_id) for t in frames] == [
        ('world', 'base_link'),
        ('base_link', 'link_1'),
        ('link_1', 'link_2'),
        ('link_2', 'link_3'),
        ('link_3', 'hand'),
    ]


def test_description_has_the_frames_and_joints_of_the_arm(peer, motors):
    text = peer.collect(String, 'robot_description', LATCHED)[0].data
    root = ET.fromstring(text)  # noqa: S314, our own text
    chain = {
        (j.find('parent').get('link'), j.find('child').get('link')) for j in root.findall('joint')
    }
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    assert chain == {(t.header.frame_id, t.child_frame_id) for t in frames}
    assert [j.get('name') for j in root.findall("joint[@type='revolute']")] == NAMES


def test_joint_states_of_other_joints_are_told(peer, node):
    publisher = peer.node.create_publisher(JointState, 'robot_joint_states', STREAM_WRITER)
    foreign = JointState(name=['elbow'], position=[0.0])
    with peer.every(0.02, lambda: publisher.publish(foreign)):
        wait_for_health(peer, "['elbow']")


def test_controller_output_is_a_trajectory(peer, motors, run_process):
    settings = {**SETTINGS, 'drive.mode': 'position', 'output': 'trajectory'}
    settings |= {'command_topic': 'arm/joint_trajectory', 'publish_frames': False}
    other = run_process(BRIDGE, params=settings).wait_for('driving joint_1')
    points = peer.collect(JointTrajectory, 'arm/joint_trajectory', COMMAND)[0].points
    assert list(points[0].positions) == pytest.approx(motors.q, abs=2e-2)
    assert other.stop() == 0


def test_stops_cleanly_and_effort_by_trajectory_is_refused(run_process):
    node = run_process(BRIDGE, params={'output': 'trajectory'})
    node.wait_for("cannot configure: output 'trajectory' goes with drive.mode")
    status = node.stop()
    assert (status, node.text.count('Traceback')) == (0, 0), node.text
