"""The whole laboratory as processes, in simulated time: what each injected fault leads to."""

import contextlib
import math
import signal

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import pytest
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_READER
from std_srvs.srv import SetBool, Trigger

pytestmark = [pytest.mark.slow]
BLIND = ('the last image is', 'no object was seen')
PACKAGE = 'rolling_hw_interface.nodes'
MODULES = {'emulated_motors': 'rolling_dynamics.nodes.simulator_node'}
SLOW = {'rate': 200.0, 'diagnostics_period': 0.1, 'use_sim_time': True}  # a plant that waits
NODES = {
    'emulated_motors': {
        'scenario_file': 'laboratory_flat.yaml',
        'motion': 'on_arm',
        'motors.command_timeout': 0.2,
        'camera.rate': 50.0,
        'camera.clock_offset': 0.3,
        'seed': 1,
    },
    'motor_bridge': {'drive.command_timeout': 0.2, 'drive.state_timeout': 0.5},
    'vision_bridge': {},
    'estimator': {
        'scenario_file': 'laboratory_flat.yaml',
        'filter.planar': True,
        'vision_timeout': 0.5,
    },
}
LONG = 90.0


def params(name):
    common = {k: v for k, v in SLOW.items() if k != 'rate' or name != 'vision_bridge'}
    return {**common, **NODES[name]}


@pytest.fixture(scope='module')
def nodes(run_process):
    return {
        n: run_process(
            MODULES.get(n, f'{PACKAGE}.{n}_node'),
            params=params(n),
            arguments=('--ros-args', '-r', f'__node:={n}', '--'),
        )
        for n in NODES
    }


@pytest.fixture(scope='module')
def laboratory(peer, nodes):
    health(peer, 'estimator', 'rolling')
    return nodes


def health(peer, node, text, timeout=LONG):
    texts = (text,) if isinstance(text, str) else text

    def accept(message):
        status = message.status[0]
        return status.name == node and any(t in status.message for t in texts)

    told = []

    def keep(message):
        told.append(f'{message.status[0].name}: {message.status[0].message}')
        return accept(message)

    try:
        found = peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=keep, timeout=timeout)
    except AssertionError:
        mine = sorted({t for t in told if t.startswith(node)})
        pytest.fail(f'{node} did not say {texts}, but {mine}')
    return found[0]


def inject(peer, node, kind, **others):
    peer.set_parameters(node, fault=kind, **others)


def enable(peer, node='motor_bridge'):
    request = SetBool.Request(data=True)
    assert peer.call(SetBool, f'{node}/enable', request, timeout=LONG).success


@pytest.fixture
def commanding(peer, laboratory):
    """Swing the hand gently, as a controller would."""
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)

    def command(state):
        message = AccelStamped()
        message.header.stamp = state.header.stamp
        t = state.header.stamp.sec + state.header.stamp.nanosec * 1e-9
        message.accel.linear.x = 0.7 * math.cos(6.0 * t)
        publisher.publish(message)

    enable(peer)
    with answering(peer, command):
        health(peer, 'motor_bridge', 'driving')
        yield


@contextlib.contextmanager
def answering(peer, command):
    """Answer each state of the hand, in the peer's thread."""
    make = peer.node.create_subscription
    states = peer.in_turn(make, Odometry, 'hand/odometry', command, STREAM_READER)
    try:
        yield
    finally:
        peer.in_turn(peer.node.destroy_subscription, states)


def speed(message):
    v, w = message.twist.twist.linear, message.twist.twist.angular
    return math.hypot(v.x, v.z) + 0.1 * abs(w.y)


def moving_hand(peer):
    peer.collect(
        Odometry,
        'hand/ground_truth',
        STREAM_READER,
        accept=lambda m: speed(m) > 0.06,
        timeout=LONG,
    )


def resting_hand(peer):
    peer.collect(
        Odometry, 'hand/ground_truth', STREAM_READER, 20, timeout=LONG, accept=is_at_rest()
    )


def is_at_rest():
    """Accept messages once ten in a row are slow; an arm on its brakes sinks at 0.04 m/s."""
    count = [0]

    def accept(message):
        count[0] = count[0] + 1 if speed(message) < 0.05 else 0
        return count[0] > 10

    return accept


def test_estimate_is_the_truth(peer, laboratory):
    truth = peer.collect(Odometry, 'object/ground_truth', STREAM_READER, timeout=LONG)[0]
    found = peer.collect(Odometry, 'object/odometry', STREAM_READER, timeout=LONG)[0]
    a, b = truth.pose.pose.position, found.pose.pose.position
    assert math.dist((a.x, a.z), (b.x, b.z)) < 2e-3


def test_hand_follows_and_rests_when_the_controller_falls_silent(peer, commanding):
    moving_hand(peer)


def test_hand_is_at_rest_after_that(peer, laboratory):
    health(peer, 'motor_bridge', 'holding: the command is')
    resting_hand(peer)


@pytest.mark.parametrize(
    ('kind', 'joint', 'text'),
    [
        ('encoder_lost', 1, 'joint 2 gives no angle'),
        ('encoder_frozen', 0, 'joint 1 does not turn'),
        ('motor_stuck', 1, 'does not turn'),
    ],
)
def test_fault_of_the_motors_brings_the_arm_to_rest(peer, commanding, kind, joint, text):
    moving_hand(peer)
    inject(peer, 'emulated_motors', kind, fault_joint=joint)
    health(peer, 'motor_bridge', text)
    health(peer, 'emulated_motors', f'injected fault: {kind}')
    resting_hand(peer)
    inject(peer, 'emulated_motors', 'none')
    assert peer.call(Trigger, 'emulated_motors/reset', Trigger.Request(), timeout=LONG).success


@pytest.mark.parametrize('kind', ['frozen', 'off', 'hidden'])
def test_blind_camera_ends_the_estimate_and_it_comes_back(peer, laboratory, kind):
    peer.set_parameters('emulated_motors', camera_fault=kind)
    health(peer, 'vision_bridge', 'no pose for')
    health(peer, 'estimator', BLIND)
    peer.set_parameters('emulated_motors', camera_fault='none')
    health(peer, 'estimator', 'rolling')


def test_killed_bridge_leaves_the_arm_braked(peer, laboratory, commanding):
    moving_hand(peer)
    laboratory['motor_bridge'].stop(signal.SIGKILL)
    health(peer, 'emulated_motors', 'braking: no commands')
    resting_hand(peer)
    laboratory['motor_bridge'].start_again()
    health(peer, 'motor_bridge', 'driving')


def test_a_dead_camera_is_reported_and_another_clock_is_taken(peer, laboratory):
    # braked hard, the plate may have lost the object: it has to lie there to be seen again
    assert peer.call(Trigger, 'emulated_motors/reset', Trigger.Request(), timeout=LONG).success
    peer.set_parameters('emulated_motors', camera_fault='off')
    health(peer, 'estimator', BLIND)
    peer.set_parameters('emulated_motors', camera_fault='clock_jump')
    health(peer, 'estimator', 'rolling')


def test_everything_stops_cleanly(laboratory):
    for name in ('estimator', 'vision_bridge', 'emulated_motors'):
        status = laboratory[name].stop()
        assert (status, laboratory[name].text.count('Traceback')) == (0, 0), laboratory[name].text
