"""The controller of a ball balancer: frames in, angles of servos out."""

import copy
import json
import math
from pathlib import Path as FilePath
import sys
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, PoseWithCovarianceStamped
from lifecycle_msgs.msg import Transition
from nav_msgs.msg import Path
import numpy as np
import pytest
from rcl_interfaces.msg import ParameterEvent
from rolling_controller.nodes.step_log import COLUMNS, rows_in
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_node_kit.conversions import nanoseconds_to_time, time_to_nanoseconds
from rolling_node_kit.qos import COMMAND, EVENT, LATCHED, LOG, SENSOR_DATA
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.laws import replay_recording
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

sys.path.append(str(FilePath(__file__).parent))

from bags import recording_of

PERIOD = 1 / 29.7
NOISE = 4.2e-5  # m, as the scenario declares of its camera
CONTROLLER = 'rolling_controller.nodes.controller_node'


@pytest.fixture
def controller(run_process):
    params = {'scenario_file': 'ball_balancer', 'diagnostics_period': 0.2, 'frame_timeout': 60.0}
    params['stamp_tolerance'] = 60.0  # the frames of a test go by faster than their stamps
    params['law'] = 'pid'  # tilts to where the set point is, whatever the ball has done before
    node = run_process(CONTROLLER, params=params)
    node.wait_for('steps per second', 60.0)
    return node


@pytest.fixture
def answered(peer):
    """Send a frame with the ball at a place until its answer comes, and return that."""
    frames = peer.node.create_publisher(
        PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
    )
    begin, rng = [], np.random.default_rng(1)

    def send(k, x, y, noise=NOISE):
        if not begin:  # not before the node runs, which may take longer than stamps may be old
            begin.append(peer.node.get_clock().now().nanoseconds)
        x, y = (x, y) + noise * rng.normal(size=2)
        frame = PoseWithCovarianceStamped()
        stamp = nanoseconds_to_time(begin[0] + round(k * PERIOD * 1e9))
        frame.header.stamp, frame.header.frame_id = stamp, 'plate_link'
        frame.pose.pose.position.x, frame.pose.pose.position.y = x, y
        with peer.every(0.05, lambda: frames.publish(frame)):
            return peer.collect(
                JointTrajectory,
                'servo_command',
                COMMAND,
                accept=lambda m: m.header.stamp == stamp,
            )[0]

    return send


def goal_refused(message):
    return message.status[0].message.startswith('goal_pose rejected')


def refused(message):
    return 'rejected' in message.status[0].message


def test_frames_are_answered_and_a_node_that_stops_levels_the_plate(peer, controller, answered):
    """A ball off the middle is pulled back, a set point moves it, one off the plate is refused."""

    def tilted(k):
        command = answered(k, 0.02, 0.0)
        assert list(command.joint_names) == ['servo_x', 'servo_y']
        return command.points[0].positions[0]

    assert max(tilted(k) for k in range(6)) < -0.005
    old = PoseWithCovarianceStamped()
    old.header.stamp.sec = 10
    frames = peer.node.create_publisher(
        PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
    )
    with peer.every(0.05, lambda: frames.publish(old)):
        told = peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=refused)
    assert 'behind the clock of the node' in told[0].status[0].message
    goals = peer.node.create_publisher(PoseStamped, 'goal_pose', EVENT)
    goal = PoseStamped()
    goal.pose.position.x = 0.5
    with peer.every(0.05, lambda: goals.publish(goal)):
        told = peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=goal_refused)
    assert 'from (-0.08, -0.08) to (0.08, 0.08) m' in told[0].status[0].message
    assert tilted(6) < -0.005  # the goal that was refused is not followed
    goal.pose.position.x = 0.04
    with peer.every(0.05, lambda: goals.publish(goal)):
        k = next(k for k in range(7, 60) if tilted(k) > 0.005)
    shown = peer.collect(PoseStamped, 'set_point', LATCHED)[0]
    assert shown.pose.position.x == 0.04
    last, came = [], threading.Event()

    def take(message):
        if message.header.stamp == nanoseconds_to_time(0):
            last.append(list(message.points[0].positions))
            came.set()

    reader = peer.node.create_subscription(JointTrajectory, 'servo_command', take, COMMAND)
    tilted(k + 1)  # by a reader that was made later: this one is there
    assert not last
    assert peer.transit('controller', Transition.TRANSITION_DEACTIVATE) == [True]
    assert came.wait(60.0)
    assert last[0] == [0.0, 0.0]
    peer.node.destroy_subscription(reader)
    assert controller.stop() == 0, controller.text


@pytest.fixture
def commands(peer):
    """Return the stamps [ns] and angles of all commands, as they come."""
    came = {}

    def take(message):
        stamp = time_to_nanoseconds(message.header.stamp)
        came[stamp] = list(message.points[0].positions)

    reader = peer.node.create_subscription(JointTrajectory, 'servo_command', take, COMMAND)
    yield came
    peer.node.destroy_subscription(reader)


def test_a_frame_of_another_frame_or_time_is_not_used(peer, controller, answered, commands):
    """Neither is it answered, nor do the frames after it count as older ones."""
    frames = peer.node.create_publisher(
        PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
    )
    answered(0, 0.02, 0.0)
    now = peer.node.get_clock().now().nanoseconds
    bad = {
        now + 1_000_000_000: ('camera', "its frame is 'camera'; 'plate_link' is needed"),
        now + 1_000_000_000_000: ('plate_link', 's ahead of the clock of the node'),
        now - 1_000_000_000_000: ('plate_link', 's behind the clock of the node'),
    }
    for k, (stamp, (frame_id, text)) in enumerate(bad.items()):
        frame = PoseWithCovarianceStamped()
        frame.header.stamp, frame.header.frame_id = nanoseconds_to_time(stamp), frame_id
        frame.pose.pose.position.x = -0.06
        says = lambda m, text=text: text in m.status[0].message  # noqa: E731
        with peer.every(0.05, lambda frame=frame: frames.publish(frame)):
            peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=says)
        assert answered(k + 1, 0.02, 0.0).points[0].positions[0] < -0.005
    assert len(commands) >= 3
    assert not bad.keys() & commands.keys()
    assert controller.stop() == 0, controller.text


def test_without_frames_the_plate_is_levelled_and_the_next_begins_anew(
    peer, controller, answered, commands
):
    answered(0, 0.02, 0.0)
    assert answered(1, 0.02, 0.0).points[0].positions[0] < -0.005
    assert 0 not in commands  # the stamp of a command that answers no frame
    peer.set_parameters('controller', frame_timeout=0.05)
    waits = lambda m: 'no frames: the plate is level' in m.status[0].message  # noqa: E731
    peer.collect(DiagnosticArray, '/diagnostics', EVENT, accept=waits)
    peer.until(lambda: 0 in commands)
    assert commands[0] == [0.0, 0.0]
    peer.set_parameters('controller', frame_timeout=60.0)
    answered(2, 0.02, 0.0)
    log = peer.collect(Float64MultiArray, 'controller/steps', LOG, count=3)
    rows = np.concatenate([rows_in(m) for m in log])
    assert rows[:, COLUMNS.index('run')].tolist() == [1, 1, 2]
    assert rows[:, COLUMNS.index('step')].tolist() == [0, 1, 0]
    assert controller.stop() == 0, controller.text


def test_a_frozen_picture_levels_the_plate_and_is_an_error(peer, run_process, answered, fault_row):
    """Frames with fresh stamps and one content; true ones later change nothing."""
    params = {'scenario_file': 'ball_balancer', 'diagnostics_period': 0.1, 'frame_timeout': 60.0}
    node = run_process(CONTROLLER, params={**params, 'stamp_tolerance': 60.0})
    node.wait_for('steps per second', 60.0)
    for k in range(3):
        command = answered(k, 0.02, 0.0)
    assert command.points[0].positions[0] < -0.005
    told = fault_row('the node of a ball balancer: the picture is frozen, with fresh stamps')
    answered(3, 0.02, 0.0, noise=0.0)
    command = answered(4, 0.02, 0.0, noise=0.0)
    assert list(command.points[0].positions) == [0.0, 0.0]
    level = DiagnosticStatus.ERROR
    (said,) = peer.collect(
        DiagnosticArray, '/diagnostics', EVENT, accept=lambda m: m.status[0].level == level
    )
    assert '2 samples are equal; the plate is level' in said.status[0].message
    told(f'diagnostics at ERROR: {said.status[0].message}')
    assert list(answered(5, 0.02, 0.0).points[0].positions) == [0.0, 0.0]
    anew = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE
    assert peer.transit('controller', *anew) == [True, True]
    assert answered(6, 0.02, 0.0).points[0].positions[0] < 0.0
    assert node.stop() == 0, node.text


def test_a_fault_outlives_a_pause_of_the_frames(peer, run_process, answered):
    """Until the node is activated again frames move nothing, those after a pause neither."""
    params = {'scenario_file': 'ball_balancer', 'diagnostics_period': 0.1, 'frame_timeout': 2.0}
    node = run_process(CONTROLLER, params={**params, 'stamp_tolerance': 60.0})
    node.wait_for('steps per second', 60.0)
    for k in range(2):
        answered(k, 0.02, 0.0, noise=0.0)
    node.wait_for('samples are equal', 10.0)
    stamp = 0

    def rests(message):  # as no frame came; it answers none
        nonlocal stamp
        stamp = time_to_nanoseconds(message.header.stamp)
        return list(message.points[0].positions) == [0.0, 0.0]

    peer.collect(JointTrajectory, 'servo_command', COMMAND, accept=rests)
    frames = peer.node.create_publisher(
        PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
    )
    sent = []

    def send():
        frame = PoseWithCovarianceStamped()
        frame.header.stamp = peer.node.get_clock().now().to_msg()
        frame.pose.pose.position.x = 0.02 + 1e-4 * math.sin(len(sent))
        sent.append(frame)
        frames.publish(frame)

    with peer.every(PERIOD, send):
        told = peer.collect(DiagnosticArray, '/diagnostics', EVENT, count=10)
    counts = [{v.key: v.value for v in m.status[0].values}['frames'] for m in told]
    assert [m.status[0].level for m in told] == [DiagnosticStatus.ERROR] * 10
    assert len(sent) > 10
    assert set(counts) == {'2'}
    anew = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE
    assert peer.transit('controller', *anew) == [True, True]
    commands = [answered(k, 0.02, 0.0) for k in (900, 901)]  # later than all before
    assert commands[-1].points[0].positions[0] < 0.0
    assert node.stop() == 0, node.text


def test_a_labyrinth_is_answered_by_speeds_and_its_plan_is_shown(peer, run_process, tmp_path):
    raw = copy.deepcopy(load_scenario('labyrinth').raw)
    raw['board']['path'] = raw['board']['path'][:4]
    file = tmp_path / 'short.yaml'
    file.write_text(json.dumps(raw))
    params = {'scenario_file': str(file), 'law': 'predictive', 'stamp_tolerance': 60.0}
    node = run_process(CONTROLLER, params=params)
    node.wait_for('steps per second', 60.0)
    way = peer.collect(Path, 'plan/object_path', LATCHED)[0]
    places = [(p.pose.position.x, p.pose.position.y) for p in way.poses]
    assert places[0] == pytest.approx(raw['board']['path'][0], abs=1e-6)
    assert places[-1] == pytest.approx(raw['board']['path'][-1], abs=1e-6)
    frames = peer.node.create_publisher(
        PoseWithCovarianceStamped, 'vision/object_pose', SENSOR_DATA
    )
    frame = PoseWithCovarianceStamped()
    frame.header.stamp = peer.node.get_clock().now().to_msg()
    frame.pose.pose.position.x, frame.pose.pose.position.y = places[0][0] + 0.004, places[0][1]
    with peer.every(0.05, lambda: frames.publish(frame)):
        command = peer.collect(JointTrajectory, 'servo_command', COMMAND)[0]
    assert list(command.joint_names) == ['servo_x', 'servo_y']
    assert command.points[0].velocities[0] < -0.05
    assert not command.points[0].positions
    assert node.stop() == 0, node.text


def test_commands_come_out_of_a_replay_bit_by_bit(peer, run_process, answered, tmp_path):
    """A frame is missing, one has no ball; after a pause the law goes on with what it knows."""
    params = {'scenario_file': 'ball_balancer', 'law': 'lqr', 'frame_timeout': 60.0}
    node = run_process(CONTROLLER, params={**params, 'stamp_tolerance': 60.0})
    node.wait_for('steps per second', 60.0)
    places = {0: 0.02, 1: 0.021, 2: 0.019, 4: 0.018, 5: math.nan, 6: 0.015}
    commands = [answered(k, x, -0.01) for k, x in places.items()]
    again = Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE
    assert peer.transit('controller', *again) == [True, True]
    commands += [answered(k, 0.015, -0.01) for k in (7, 8)]
    settings = peer.collect(ParameterEvent, 'controller/settings', LOG, count=2)
    steps = peer.collect(Float64MultiArray, 'controller/steps', LOG, count=len(commands))
    assert node.stop() == 0, node.text

    def bag(name, steps):
        found = {'controller/settings': settings, 'controller/steps': steps}
        return recording_of(tmp_path / name, found)

    rows = [rows_in(m)[0] for m in steps]
    stamps = [time_to_nanoseconds(c.header.stamp) for c in commands]
    assert [int(row[3]) * 10**9 + int(row[4]) for row in rows] == stamps
    with Recorded(bag('same', steps)) as recorded:
        runs = replay_recording(recorded)
    assert [(run.same, run.equal, run.title) for run in runs] == [
        (True, len(places), 'run 1, lqr'),
        (True, 2, 'run 2, lqr'),
    ]
    with Recorded(bag('late', steps[1:])) as recorded:
        (run,) = replay_recording(recorded)
    assert (run.same, run.lost, run.title) == (False, 2, 'run 1, lqr')
    steps[0].data[-1] = float(np.nextafter(steps[0].data[-1], 1.0))
    with Recorded(bag('other', steps)) as recorded:
        run, _ = replay_recording(recorded)
    assert (run.same, run.equal) == (False, len(places) - 1)
    steps[0].layout.dim.clear()
    with (
        Recorded(bag('damaged', steps)) as recorded,
        pytest.raises(ParameterError, match='the log of the controller is damaged'),
    ):
        replay_recording(recorded)
