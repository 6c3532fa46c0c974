"""Simulator and controller of the laboratory as processes: runs, refusals, clean ends."""

import json
import math
from pathlib import Path
import sys
import threading

from deadline import Deadline
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import AccelStamped
from nav_msgs.msg import Odometry
import pytest
from rolling_interfaces.action import RunExperiment
from rolling_interfaces.msg import RollingContact
from rolling_node_kit.qos import COMMAND, EVENT, STREAM_READER
from std_srvs.srv import Trigger

sys.path.insert(0, str(Path(__file__).parent))

from runs import await_active, Runner

SIMULATOR = 'rolling_dynamics.nodes.simulator_node'
CONTROLLER = 'rolling_controller.nodes.controller_node'
SCENARIO = {'scenario_file': 'laboratory_damping.yaml'}
LONG = 60.0
TURN = 0.3  # of the ellipse from where it rests, in the scenario [rad]


@pytest.fixture(scope='module')
def nodes(run_process):
    """Plant and controller, in simulated time."""
    common = {**SCENARIO, 'use_sim_time': True, 'diagnostics_period': 0.1}
    plant = {'rate': 500.0, 'lockstep_timeout': 20.0, 'contact_rate': 250.0, 'motion': 'all_modes'}
    remap = ('--ros-args', '-r', '/clock:=clock', '--')
    return {
        'simulator': run_process(SIMULATOR, params={**common, **plant}, arguments=remap),
        'controller': run_process(
            CONTROLLER,
            params={**common, 'experiment': 'damping', 'state_timeout': 5.0},
            arguments=remap,
        ),
    }


@pytest.fixture
def ready(peer, nodes):
    """Return the processes, the controller active."""
    await_active(peer, 'controller', LONG)
    return nodes


@pytest.fixture
def runner(peer, ready):
    return Runner(peer)


def trigger(peer, name):
    return peer.call(Trigger, name, Trigger.Request(), timeout=LONG)


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def lean(message):
    """Return the turn of the ellipse from where it rests [rad]."""
    q = message.pose.pose.orientation
    return 2 * math.atan2(q.y, q.w) + math.pi / 2


def test_object_is_held_until_the_first_command_and_falls_then(peer, ready):
    assert trigger(peer, 'simulator/reset').success
    held = peer.collect(Odometry, 'object/ground_truth', STREAM_READER, 50)
    assert {round(lean(m), 12) for m in held} == {TURN}
    publisher = peer.node.create_publisher(AccelStamped, 'hand/accel_command', COMMAND)

    def command():
        message = AccelStamped()
        message.header.stamp.sec = 10**6  # later than the reset
        publisher.publish(message)

    with peer.every(0.02, command):
        peer.collect(
            Odometry,
            'object/ground_truth',
            STREAM_READER,
            accept=lambda m: lean(m) < 0.5 * TURN,
            timeout=LONG,
        )
    peer.node.destroy_publisher(publisher)
    assert trigger(peer, 'simulator/reset').success


def test_a_run_damps_the_rocking_and_tells_how_it_goes(peer, runner):
    assert trigger(peer, 'simulator/reset').success
    ended = runner.run(experiment='damping', law='closed_loop', duration=3.0)
    assert (ended.error_code, ended.error_string) == (RunExperiment.Result.NONE, '')
    assert ended.duration == pytest.approx(3.0, abs=0.01)
    assert ended.balancing_since == pytest.approx(0.0, abs=0.01)
    assert ended.start.sec + ended.start.nanosec > 0
    phase = RunExperiment.Feedback.PHASE_BALANCING
    balancing = peer.until(lambda: [m for m in runner.told if m.phase == phase])
    assert [m.time for m in balancing] == sorted({m.time for m in balancing})
    assert {m.contact_mode for m in balancing} <= {'', RollingContact.MODE_ROLLING}
    for message in balancing:
        assert dict(zip(message.state_names, message.state_values, strict=True))['q_HO_y'] != 0.0
        assert all(margin <= 1.0 for margin in message.margin_values)
    found = peer.collect(Odometry, 'object/ground_truth', STREAM_READER, 500, timeout=LONG)
    assert stamp(found[-1]) - stamp(found[0]) > 0.9  # longer than it takes to rock to and fro
    assert max(abs(lean(m)) for m in found) < 0.2 * TURN


@pytest.fixture
def recorder(peer, run_process, tmp_path):
    """A recorder that listens to all that a replay needs; yields it, and the folder."""
    topics = {  # how many listen then
        'controller/steps': 1,
        'controller/settings': 1,
        'hand/odometry': 2,
        'object/odometry': 2,
        'hand/accel_command': 2,
    }
    process = run_process(
        'rolling_robotics.nodes.recorder_node',
        params={
            'folder': tmp_path / 'bag',
            'topics': json.dumps(list(topics)),
            'scan_period': 0.05,
            'diagnostics_period': 0.1,
        },
    ).wait_for('recording into')
    end = Deadline(LONG)
    while any(peer.node.count_subscribers(t) < n for t, n in topics.items()):
        assert end.left > 0.0, 'the recorder does not listen'
        process._reader.join(0.05)
    return process, tmp_path / 'bag'


def written(peer, more_than=-1):
    """Return how many messages the recorder has written, once there are more than these."""

    def count(message):
        status = message.status[0]
        values = {value.key: value.value for value in status.values}
        return int(values.get('written', -1)) if status.name == 'recorder' else -1

    found = peer.collect(
        DiagnosticArray, '/diagnostics', EVENT, accept=lambda m: count(m) > more_than, timeout=LONG
    )
    return count(found[0])


def test_a_recorded_run_gives_its_commands_again(peer, runner, recorder):
    from rolling_robotics.nodes.recorded import Recorded
    from rolling_robotics.nodes.replay.laws import replay_laws

    process, folder = recorder
    assert trigger(peer, 'simulator/reset').success
    peer.set_parameters('controller', law='open_loop')  # what the goal names is what counts
    goal = {'law': 'closed_loop', 'duration': 1.0}
    assert runner.run(**goal).error_code == RunExperiment.Result.NONE
    peer.set_parameters('controller', law='closed_loop')
    count = written(peer)
    written(peer, count + 1000)  # which came after the end of the run
    assert process.stop() == 0
    with Recorded(folder) as recorded:
        *before, run = replay_laws(recorded)  # the log is kept for a recorder that is late
    assert run.title == f'run {len(before) + 1}, closed_loop'
    assert len(run.computed) > 400
    assert run.equal == run.recorded > 0.9 * len(run.computed)


@pytest.mark.parametrize('by', ['cancel', 'newer goal'])
def test_the_next_state_after_a_cancel_is_answered_by_rest(peer, runner, by):
    """By the stamps of states and commands; what no command follows comes to rest."""
    stamps, answered, closed = [0], [], threading.Event()

    def take(message):
        answered.append((stamp(message), stamps[-1]))
        if answered[-1][0] == 0.0:  # of the command that brings to rest
            closed.set()

    def measured(message):
        stamps.append(stamp(message))

    readers = [
        peer.node.create_subscription(AccelStamped, 'hand/accel_command', take, EVENT),
        peer.node.create_subscription(Odometry, 'hand/odometry', measured, STREAM_READER),
    ]
    handle = runner.begin(law='closed_loop')
    if by == 'cancel':
        peer.cancel(handle)
    else:
        newer = runner.begin(law='open_loop', duration=0.1)
    ended = runner.result(handle)
    assert closed.wait(LONG)
    for reader in readers:
        peer.node.destroy_subscription(reader)
    codes = {
        'cancel': RunExperiment.Result.CANCELLED,
        'newer goal': RunExperiment.Result.PREEMPTED,
    }
    assert ended.error_code == codes[by]
    last = next(k for k, (command, _) in enumerate(answered) if command == 0.0)
    assert answered[last][1] - answered[last - 1][0] <= 0.2
    if by == 'cancel':
        assert last == len(answered) - 1
        assert hand_rests(peer)
    else:
        assert runner.result(newer).error_code == RunExperiment.Result.NONE


def hand_rests(peer):
    """Wait until the hand rests and stays there: one that swings is at rest for an instant."""
    slow = []

    def rests(message):
        twist = message.twist.twist
        slow.append(abs(twist.linear.x) + abs(twist.angular.y) < 1e-3)
        return len(slow) >= 200 and all(slow[-200:])

    return bool(peer.collect(Odometry, 'hand/odometry', STREAM_READER, accept=rests, timeout=LONG))


def test_stop_ends_a_run(peer, runner):
    handle = runner.begin(law='open_loop')
    busy = lambda m: any(v.key == 'running' and v.value == 'True' for v in m.status[0].values)  # noqa: E731
    ours = lambda m: m.status[0].name == 'controller' and busy(m)  # noqa: E731
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=ours, timeout=LONG)
    assert trigger(peer, 'controller/stop').success
    assert runner.result(handle).error_code == RunExperiment.Result.CANCELLED


@pytest.mark.parametrize(
    ('goal', 'text'),
    [
        ({'law': 'replay_balance'}, 'has the laws closed_loop, open_loop'),
        ({'experiment': 'flip_up'}, "this node runs damping; got 'flip_up'"),
        ({'duration': -1.0}, 'duration must be finite and not negative'),
        ({'duration': math.nan}, 'duration must be finite and not negative'),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(runner, goal, text):
    ended = runner.run(**goal)
    assert ended.error_code == RunExperiment.Result.INVALID_GOAL
    assert text in ended.error_string


def test_bad_parameters_are_refused_with_the_reason(peer, ready):
    (result,) = peer.ask_parameters('controller', law='by_hand')
    assert not result.successful
    assert 'must be one of closed_loop' in result.reason
    (result,) = peer.ask_parameters('simulator', inertia_factor=0.0)
    assert not result.successful
    assert 'inertia_factor' in result.reason


def test_contact_state_tells_the_mode(peer, ready):
    assert trigger(peer, 'simulator/reset').success
    state = peer.collect(RollingContact, 'contact/state', EVENT, timeout=LONG)[0]
    assert state.mode == RollingContact.MODE_ROLLING
    assert state.gap == pytest.approx(0.0, abs=1e-9)


def test_without_an_experiment_it_follows_plans_and_another_body_is_refused_in_words(run_process):
    bare = run_process(CONTROLLER, params=SCENARIO, arguments=('--ros-args', '-r', '__ns:=/a'))
    bare.wait_for('laboratory_damping: 1000 steps per second', timeout=LONG)
    other = run_process(
        CONTROLLER,
        params={'scenario_file': 'ball_on_plate_hard.yaml', 'experiment': 'flip_up'},
        arguments=('--ros-args', '-r', '__ns:=/b'),
    )
    other.wait_for('cannot configure: ', timeout=LONG)
    for process in (bare, other):
        assert process.stop() == 0
        assert 'Traceback' not in process.text


def test_a_stopped_plant_ends_the_run_and_everything_stops_cleanly(peer, ready, runner):
    peer.ask_parameters('controller', state_timeout=0.5)
    handle = runner.begin()
    assert ready['simulator'].stop() == 0
    ended = runner.result(handle)
    assert ended.error_code == RunExperiment.Result.STALE_STATE
    assert 'the newest state is' in ended.error_string
    peer.collect(
        DiagnosticArray,
        '/diagnostics',
        EVENT,
        accept=lambda m: m.status[0].name == 'controller' and m.status[0].message == 'ready',
        timeout=LONG,
    )
    assert ready['controller'].stop() == 0
    assert all('Traceback' not in process.text for process in ready.values())
