"""The simulator node: what it publishes, refuses and does without commands."""

import itertools
import math
import signal

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped, Vector3
from nav_msgs.msg import Odometry
import pytest
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, STREAM_READER
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

SIMULATOR = 'rolling_dynamics.nodes.simulator_node'
SCENARIO = {'scenario_file': 'ball_on_plate_hard.yaml'}
RATE = 250.0  # Hz


@pytest.fixture(scope='module')
def node(run_process):
    params = {**SCENARIO, 'frame_prefix': 'a_', 'rate': RATE}
    return run_process(SIMULATOR, params=params).wait_for('steps per second')


@pytest.fixture
def at_start(peer, node):
    peer.ask_parameters(
        'simulator', perturbation_position=[0.0, 0.0], perturbation_rotation=[0.0] * 3
    )
    assert peer.call(SetBool, 'simulator/enable', SetBool.Request(data=True)).success
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success


def rate(messages):
    first, last = (
        m.header.stamp.sec + m.header.stamp.nanosec * 1e-9 for m in (messages[0], messages[-1])
    )
    return (len(messages) - 1) / (last - first)


def test_states_come_at_the_rate_that_was_asked_for(peer, at_start):
    messages = peer.collect(Odometry, 'hand/odometry', STREAM_READER, 200)
    assert messages[0].child_frame_id == 'a_hand'
    stamps = [m.header.stamp.nanosec for m in messages]
    steps = {(b - a) % 1_000_000_000 for a, b in itertools.pairwise(stamps)}
    assert all(step % round(1e9 / RATE) == 0 for step in steps)


def test_contact_coordinates_are_those_of_the_start(peer, at_start):
    joints = peer.collect(JointState, 'contact/coordinates', STREAM_READER)[0]
    values = dict(zip(joints.name, joints.position, strict=True))
    assert values['u_h'] == pytest.approx(0.0, abs=1e-9)
    assert values['v_h'] == pytest.approx(0.0, abs=1e-9)


def test_contact_state_tells_mode_and_margins(peer, at_start):
    state = peer.collect(RollingContact, 'contact/state', EVENT)[0]
    assert state.mode == RollingContact.MODE_ROLLING
    assert state.wrench.force.z == pytest.approx(0.981, rel=1e-6)
    assert state.friction_utilisation == pytest.approx(0.0, abs=1e-9)


def test_frames_form_a_tree_with_the_prefix(peer, at_start):
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    assert {(t.header.frame_id, t.child_frame_id) for t in frames} == {
        ('world', 'a_hand'),
        ('world', 'a_object'),
        ('a_hand', 'a_contact_hand'),
        ('a_object', 'a_contact_object'),
    }


def test_surfaces_are_there_for_who_comes_late(peer, at_start):
    surfaces = peer.collect(MarkerArray, 'simulator/surfaces', LATCHED)[0]
    assert len(surfaces.markers) == 2
    assert all(len(m.points) == len(m.colors) for m in surfaces.markers)


def test_reset_shifts_and_turns(peer, at_start):
    peer.set_parameters(
        'simulator', perturbation_position=[0.003, 0.0], perturbation_rotation=[0.05, 0.0, 0.0]
    )
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    pose = peer.collect(Odometry, 'object/odometry', STREAM_READER)[0].pose.pose
    assert pose.position.x == pytest.approx(0.003, abs=1e-6)
    assert 2 * math.atan2(abs(pose.orientation.x), pose.orientation.w) == pytest.approx(
        0.05, abs=1e-3
    )


def test_reset_off_the_plate_is_refused_with_the_reason(peer, at_start):
    peer.ask_parameters('simulator', perturbation_position=[5.0, 0.0])
    answer = peer.call(Trigger, 'simulator/reset', Trigger.Request())
    assert not answer.success
    assert 'edge' in answer.message


@pytest.mark.parametrize(
    ('name', 'value', 'text'),
    [
        ('perturbation_position', [0.1], 'takes 2 numbers'),
        ('perturbation_position', [float('nan'), 0.0], 'finite'),
        ('command_timeout', -1.0, 'range'),
        ('rate', 10.0, 'read-only'),
    ],
)
def test_bad_parameter_is_refused_with_the_reason(peer, node, name, value, text):
    result = peer.ask_parameters('simulator', **{name: value})[0]
    assert not result.successful
    assert text in result.reason.lower()


def test_hand_moves_on_command_and_comes_to_rest_without(peer, at_start):
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)
    command = AccelStamped()
    command.accel.linear.z = 1.0

    def speed(message):
        return abs(message.twist.twist.linear.z)

    hand = Odometry, 'hand/odometry', STREAM_READER
    with peer.every(0.02, lambda: publisher.publish(command)):
        assert peer.collect(*hand, accept=lambda m: speed(m) > 0.01)
    assert peer.collect(*hand, accept=lambda m: speed(m) < 1e-4)
    peer.node.destroy_publisher(publisher)


def test_push_sets_the_object_rolling_and_one_that_is_not_finite_does_not(peer, node, at_start):
    publisher = peer.node.create_publisher(Vector3, 'simulator/push', EVENT)

    def publish():
        publisher.publish(Vector3(x=math.nan))
        publisher.publish(Vector3(y=0.07))

    with peer.every(2.0, publish):  # until the simulator knows of it
        twist = peer.collect(
            Odometry, 'object/odometry', STREAM_READER, accept=lambda m: m.twist.twist.linear.y > 0
        )[0].twist.twist
    assert twist.linear.x == pytest.approx(0.0, abs=1e-9)
    assert twist.linear.y == pytest.approx(0.05 * round(twist.linear.y / 0.05), rel=0.02)
    node.wait_for('~/push: not finite')
    peer.node.destroy_publisher(publisher)


def test_commands_that_are_not_finite_or_of_another_frame_move_nothing(peer, at_start):
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)
    bad, foreign = AccelStamped(), AccelStamped()
    bad.accel.linear.z = float('nan')
    foreign.header.frame_id, foreign.accel.linear.z = 'world', 5.0
    for command, text in ((bad, 'not finite'), (foreign, "in frame 'world'")):
        with peer.every(0.02, lambda command=command: publisher.publish(command)):
            refused = lambda m, text=text: text in m.status[0].message  # noqa: E731
            peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=refused)
            states = peer.collect(Odometry, 'hand/odometry', STREAM_READER, 20)
        assert {m.twist.twist.linear.z for m in states} == {0.0}
    peer.node.destroy_publisher(publisher)


@pytest.mark.parametrize(
    'numbers',
    [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT, signal.SIGTERM)],
    ids=['SIGINT', 'SIGTERM', 'impatient'],
)
def test_stops_cleanly(run_process, numbers):
    node = run_process(SIMULATOR, params=SCENARIO).wait_for('steps per second')
    status = node.stop(*numbers)
    assert (status, node.text.count('Traceback')) == (0, 0), node.text


@pytest.mark.parametrize(
    ('params', 'text'),
    [
        pytest.param(
            {'rate': '-5.0'}, 'rate must be at least 50 Hz, got -5.0', marks=pytest.mark.slow
        ),
        ({'rate': 'fast'}, "rate must be of type double, for example 1000.0, got 'fast'"),
    ],
)
def test_bad_parameter_at_start_ends_it_with_one_line(run_process, params, text):
    node = run_process(SIMULATOR, params={**SCENARIO, **params})
    assert node.popen.wait(60) == 2
    node.kill()
    assert text in node.text
    assert 'Traceback' not in node.text


def test_missing_scenario_leaves_it_unconfigured_with_the_reason(run_process):
    node = run_process(SIMULATOR, params={'scenario_file': 'nowhere.yaml'}).wait_for(
        "cannot configure: no file 'nowhere.yaml'"
    )
    assert node.stop() == 0
