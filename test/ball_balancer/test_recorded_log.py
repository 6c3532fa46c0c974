"""A recording is read as the log that it is, by topics and fields."""

import numpy as np
import pytest

pytest.importorskip('rosbags')

from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.identification.log import Column
from rolling_dynamics.scenario import load_scenario
from rolling_robotics.cli import main
from rolling_robotics.recordings.recorded_topics import recorded_log
from rolling_robotics.recordings.writer import Recording, Topic
from rosbags.typesys import get_typestore, Stores

STORE = get_typestore(Stores.ROS2_JAZZY)
POSE, TRAJECTORY = (
    'geometry_msgs/msg/PoseWithCovarianceStamped',
    'trajectory_msgs/msg/JointTrajectory',
)
COUNT, PERIOD, SHOT, LATE = 150, 33_670_034, 22_000_000, 5_000_000  # ns
LOST, UNANSWERED, TWICE = 7, 20, 31


def make(name, **fields):
    return STORE.types[name](**fields)


def header(stamp):
    time = make('builtin_interfaces/msg/Time', sec=stamp // 10**9, nanosec=stamp % 10**9)
    return make('std_msgs/msg/Header', stamp=time, frame_id='')


def pose(stamp, place):
    vector = make('geometry_msgs/msg/Point', x=place[0], y=place[1], z=0.02)
    turn = make('geometry_msgs/msg/Quaternion', x=0.0, y=0.0, z=0.0, w=1.0)
    both = make('geometry_msgs/msg/Pose', position=vector, orientation=turn)
    certain = make('geometry_msgs/msg/PoseWithCovariance', pose=both, covariance=np.zeros(36))
    return make(POSE, header=header(stamp), pose=certain)


def command(stamp, names, angles):
    none = np.zeros(0)
    point = make(
        'trajectory_msgs/msg/JointTrajectoryPoint',
        positions=np.array(angles),
        velocities=none,
        accelerations=none,
        effort=none,
        time_from_start=make('builtin_interfaces/msg/Duration', sec=0, nanosec=0),
    )
    return make(TRAJECTORY, header=header(stamp), joint_names=names, points=[point])


BALL, ANGLE = 'vision/object_pose:pose.pose.position', 'servo_command:points[0].positions'
COLUMNS = {
    'ball_x': f'{BALL}.x',
    'ball_y': f'{BALL}.y',
    'command_x': f'{ANGLE}[0]',
    'command_y': f'{ANGLE}[-1]',
}


def columns(**changes):
    return {name: Column(name=column) for name, column in (COLUMNS | changes).items()}


def recorded(folder):
    """Record frames and their answers; return the places and the angles that were commanded."""
    rng = np.random.default_rng(5)
    ball, commands = rng.normal(size=(COUNT, 2)) / 50, rng.uniform(-0.1, 0.1, (COUNT, 2))
    ball[LOST] = np.nan
    recording = Recording(folder, (), longest_queue=10 * COUNT)
    topics = {'/rig/vision/object_pose': POSE, '/rig/servo_command': TRAJECTORY}
    for topic, kind in topics.items():
        recording.add(Topic(topic, kind, latched=False))
    for k in range(COUNT):
        shot = 10**9 + k * PERIOD
        said = [pose(shot, ball[k])] * (1 + (k == TWICE))
        if k != UNANSWERED:
            said.append(command(shot, ['servo_x', 'servo_y'], commands[k]))
        for n, message in enumerate(said):
            topic = next(t for t, kind in topics.items() if kind == message.__msgtype__)
            data = bytes(STORE.serialize_cdr(message, message.__msgtype__))
            recording.put(topic, shot + SHOT + n * LATE, data)
    recording.close()
    assert recording.dropped == 0
    return ball, commands


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    folder = tmp_path_factory.mktemp('recorded') / 'bag'
    return folder, *recorded(folder)


def rig():
    return BallBalancerFile.of(load_scenario('ball_balancer')).system_and_parameters()[0]


def test_a_recording_is_read_as_a_log(bag):
    folder, ball, commands = bag
    log = recorded_log(folder, rig(), columns())
    assert log.times == pytest.approx(1e-9 * PERIOD * np.arange(COUNT), abs=1e-9)
    assert log.measured == pytest.approx(ball, abs=1e-15, nan_ok=True)
    held = commands.copy()
    held[UNANSWERED] = held[UNANSWERED - 1]
    assert log.controls == pytest.approx(held)


def test_columns_of_a_recording_are_scaled(bag):
    folder, ball, _ = bag
    column = Column(name=COLUMNS['ball_x'], scale=2.0, offset=1.0)
    log = recorded_log(folder, rig(), columns() | {'ball_x': column})
    assert log.measured[:, 0] == pytest.approx(2 * ball[:, 0] + 1, nan_ok=True)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'ball_x': 'vision/object_pose'}, 'ball_x: a column of a recording is TOPIC:FIELD'),
        ({'ball_x': 'vision/object_pose:pose.place.x'}, "'pose.place.x' is not a number: .*place"),
        ({'ball_x': 'vision/object_pose:pose.pose'}, "'pose.pose' is not a number"),
        ({'ball_x': 'nothing:x'}, "no topic 'nothing' recorded"),
        ({'ball_z': 'x:y'}, "'ball_z' is not in state or control; did you mean"),
    ],
)
def test_what_a_recording_has_not_is_named(bag, changes, message):
    with pytest.raises(ParameterError, match=message):
        recorded_log(bag[0], rig(), columns(**changes))


def test_a_recording_needs_its_columns(bag, capsys):
    assert main(['identify', str(bag[0]), '--scenario', 'ball_balancer']) == 2
    assert '--columns is needed: topics and fields' in capsys.readouterr().err
