"""The robot simulator: commands it takes and refuses, services, faults, simulated time."""

import itertools
import math

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import Odometry
import pytest
from rolling_dynamics.scenario_model import load_robot
from rolling_dynamics.simulation.emulation import Emulation
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.conversions import time_to_nanoseconds
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_READER
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage

SIMULATOR = 'rolling_dynamics.nodes.simulator_node'
SCENARIO = 'point_mass_straight.yaml'
STEP = 2_000_000  # ns of simulated time
CONTROL = 'theta_acceleration_1'


@pytest.fixture(scope='module')
def node(run_process):
    params = {'scenario_file': SCENARIO, 'frame_prefix': 'a_', 'diagnostics_period': 0.1}
    params |= {'rate': 200.0}
    params |= {'overrun_warn': 1.0, 'overrun_error': 1.0}  # the machine may be busy
    return run_process(SIMULATOR, params=params).wait_for('steps per second', 60.0)


@pytest.fixture
def at_start(peer, node):
    peer.ask_parameters(
        'simulator', perturbation_position=[0.0, 0.0], perturbation_rotation=[0.0] * 3
    )
    assert peer.call(SetBool, 'simulator/enable', SetBool.Request(data=True)).success
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success


@pytest.fixture
def commands(peer):
    publisher = peer.node.create_publisher(JointState, 'robot/control', COMMAND)
    yield publisher
    peer.node.destroy_publisher(publisher)


def rate_of_the_mass(message):
    return dict(zip(message.name, message.position, strict=True))['theta_rate_1']


def next_state(peer, accept=lambda _: True):
    return peer.collect(JointState, 'robot/state', STREAM_READER, accept=accept)[0]


def next_health(peer, accept):
    def found(message):
        status = message.status[0]
        return status.name.endswith('simulator') and accept(status)

    return peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=found)[0].status[0]


def test_frames_and_joints_carry_the_prefix(peer, at_start):
    frames = peer.collect(TFMessage, '/tf', STREAM_READER)[0].transforms
    names = {(t.header.frame_id, t.child_frame_id) for t in frames}
    assert ('a_odom', 'a_base_footprint') in names
    assert all(child.startswith('a_') for _, child in names)
    assert peer.collect(Odometry, 'odom', STREAM_READER)[0].child_frame_id == 'a_base_link'


def test_a_mass_moves_on_command_and_is_braked_without(peer, at_start, commands):
    def moving(message):
        commands.publish(JointState(name=[CONTROL], effort=[2.0]))
        return rate_of_the_mass(message) > 0.05

    before = int(values_of(next_health(peer, lambda _: True))['stale commands'])
    assert next_state(peer, moving)
    assert next_state(peer, lambda m: abs(rate_of_the_mass(m)) < 1e-4)
    health = next_health(peer, lambda s: int(values_of(s)['stale commands']) > before)
    assert health.level == DiagnosticStatus.OK


def values_of(status):
    return {v.key: v.value for v in status.values}


@pytest.mark.parametrize(
    ('message', 'text'),
    [
        (JointState(name=[CONTROL], effort=[math.nan]), 'it is not finite'),
        (JointState(name=['theta_1'], effort=[5.0]), f"['{CONTROL}'] are needed"),
        (JointState(name=[CONTROL, CONTROL], effort=[5.0, 5.0]), f"['{CONTROL}'] are needed"),
        (JointState(name=[CONTROL], position=[5.0]), 'it has 0 values of effort for 1 names'),
        (JointState(), f"['{CONTROL}'] are needed"),
    ],
    ids=['not finite', 'other name', 'named twice', 'no effort', 'empty'],
)
def test_a_command_that_is_none_moves_nothing_and_is_told(peer, at_start, commands, message, text):
    next_health(peer, lambda s: text not in s.message)  # of the case before
    with peer.every(0.02, lambda: commands.publish(message)):
        next_health(peer, lambda s: text in s.message)
    assert rate_of_the_mass(next_state(peer)) == 0.0


def test_stop_brakes_and_enable_takes_commands_again(peer, at_start, commands):
    def push(message):
        commands.publish(JointState(name=[CONTROL], effort=[2.0]))
        return rate_of_the_mass(message) > 0.05

    def at_rest(message):
        commands.publish(JointState(name=[CONTROL], effort=[2.0]))
        return abs(rate_of_the_mass(message)) < 1e-4

    assert next_state(peer, push)
    assert 'the robot is braked' in peer.call(Trigger, 'simulator/stop', Trigger.Request()).message
    assert next_state(peer, at_rest)
    assert 'commands are ignored' in next_health(peer, lambda s: 'stopped' in s.message).message
    assert peer.call(SetBool, 'simulator/enable', SetBool.Request(data=True)).success
    assert next_state(peer, push)


def test_reset_shifts_and_turns(peer, at_start):
    peer.ask_parameters(
        'simulator', perturbation_position=[0.3, -0.2], perturbation_rotation=[0.0, 0.1, 0.0]
    )
    reset = peer.node.create_client(Trigger, 'simulator/reset')
    assert reset.wait_for_service(timeout_sec=60.0)

    def shifted(message):
        x = dict(zip(message.name, message.position, strict=True))
        found = x['p_x'], x['p_y'], 2 * math.asin(x['q_WB_y'])
        return found == pytest.approx((0.3, -0.2, 0.1), abs=1e-3)

    with peer.every(0.2, lambda: reset.call_async(Trigger.Request())):  # it rolls away after that
        assert next_state(peer, shifted)
    peer.in_turn(peer.node.destroy_client, reset)


def test_slip_is_reported_and_ends_the_motion_until_reset(peer, at_start, commands):
    def slipping(message):
        commands.publish(JointState(name=[CONTROL], effort=[100.0]))
        return message.mode == RollingContact.MODE_SLIPPING

    contact = peer.collect(RollingContact, 'contact/state', EVENT, accept=slipping)[0]
    assert contact.friction_utilisation >= 1.0
    assert contact.required_friction > 0.5
    health = next_health(peer, lambda s: s.level == DiagnosticStatus.ERROR)
    assert health.message.startswith('friction: ')
    assert float(values_of(health)['margin friction']) < 0.0
    here, there = (next_state(peer).position for _ in range(2))
    assert here == there
    assert peer.call(Trigger, 'simulator/reset', Trigger.Request()).success
    assert peer.collect(
        RollingContact, 'contact/state', EVENT, accept=lambda m: m.mode == 'rolling'
    )


def in_namespace(run_process, name, **params):
    return run_process(
        SIMULATOR,
        params={'scenario_file': SCENARIO, **params},
        arguments=('--ros-args', '-r', f'__ns:=/{name}', '--'),
    ).wait_for('steps per second', 60.0)


@pytest.mark.slow
def test_it_goes_on_slipping_and_flying_where_it_is_asked_to(peer, run_process):
    """Thrown by its mass, it slips, lifts off and lands; the log and the odometry say."""
    node = in_namespace(run_process, 'jump', motion='all_modes', command_timeout=5.0)
    publisher = peer.node.create_publisher(JointState, 'jump/robot/control', COMMAND)
    modes, gaps = [], []

    def landed(message):
        if max(gaps, default=0.0) < 0.01:
            publisher.publish(JointState(name=[CONTROL], effort=[100.0]))
        modes.append(message.mode)
        gaps.append(message.gap)
        return max(gaps) >= 0.01 and message.mode != 'separated'

    assert peer.collect(RollingContact, 'jump/contact/state', EVENT, 1, accept=landed)
    peer.node.destroy_publisher(publisher)
    assert {'slipping', 'separated'} <= set(modes)
    node.wait_for('lift_off at').wait_for('landing at')
    assert 'nothing moves' not in node.text.partition('landing at')[0]
    assert node.stop() == 0


def test_in_simulated_time_plant_and_controller_take_turns(peer, run_process):
    """Each state is answered; the motion is, bit by bit, that of the plant without any ROS."""
    node = in_namespace(
        run_process, 'lockstep', use_sim_time=True, rate_factor=100.0, lockstep_timeout=20.0
    )
    publisher = peer.node.create_publisher(JointState, 'lockstep/robot/control', COMMAND)
    sent = {}

    turns = []  # stamps that followed each other by one step, since the last gap

    def answered(message):
        stamp = time_to_nanoseconds(message.header.stamp)
        new = stamp not in sent  # one whose answer is late is published again
        sent[stamp] = math.sin(1e-8 * stamp)
        answer = JointState(name=[CONTROL], effort=[sent[stamp]])
        answer.header.stamp = message.header.stamp
        publisher.publish(answer)
        if new:
            if turns and stamp - turns[-1] != STEP:
                turns.clear()
            turns.append(stamp)
        return new

    def found_each_other(message):
        """Until then the plant runs on by itself, faster than its states can be read."""
        return answered(message) and publisher.get_subscription_count() > 0 and len(turns) >= 50

    stream = (JointState, 'lockstep/robot/state', STREAM_READER)
    peer.collect(*stream, 1, 60.0, found_each_other)
    states = peer.collect(*stream, 110, 60.0, answered)
    stamps = [time_to_nanoseconds(m.header.stamp) for m in states]
    assert {b - a for a, b in itertools.pairwise(stamps)} == {STEP}
    model = load_robot(SCENARIO)
    plant = Emulation(model.system, model.params)
    plant.restart(states[0].position, [0.0])
    for before, message in itertools.pairwise(states):
        plant.step([sent[time_to_nanoseconds(before.header.stamp)]], 0.002)
        # the length of a step is rounded as its times are
        assert message.position.tolist() == pytest.approx(plant.state.x, abs=1e-12)
    peer.node.destroy_publisher(publisher)
    assert node.stop() == 0


def test_the_pace_of_simulated_time_can_be_changed_as_it_goes(peer, run_process):
    """At the pace of the start, the seconds waited for would take minutes."""
    node = in_namespace(run_process, 'pace', use_sim_time=True, rate_factor=0.01)
    peer.set_parameters('pace/simulator', rate_factor=50.0)
    late = peer.collect(
        JointState, 'pace/robot/state', STREAM_READER, accept=lambda m: m.header.stamp.sec >= 3
    )
    assert late
    assert node.stop() == 0
