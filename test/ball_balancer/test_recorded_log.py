"""A recording of a rig is read as the log that it is, whatever drives the plate."""

import re

import numpy as np
import pytest

pytest.importorskip('rosbags')

from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario
from rolling_dynamics.scenario.faults import check
from rolling_robotics.cli import main
from rolling_robotics.plugins.ball_balancer.identification import recorded_log
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
    told = make('geometry_msgs/msg/PoseWithCovariance', pose=both, covariance=np.zeros(36))
    return make(POSE, header=header(stamp), pose=told)


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


def rig(drive):
    raw = dict(load_scenario('ball_balancer').raw)
    raw['plate'] = {**raw['plate'], 'drive': drive}
    return check(BallBalancerFile, raw, '')


def recorded(folder, file, *, stamped=lambda shot: shot):
    """Record frames and their answers; return the places and the tilts that were commanded."""
    rng = np.random.default_rng(5)
    ball, tilt = rng.normal(size=(COUNT, 2)) / 50, rng.uniform(-60, 60, (COUNT, 2))
    ball[LOST] = np.nan
    system, p = file.system_and_parameters()
    names = list(system.state.entry('servo').components)
    recording = Recording(folder, (), longest_queue=10 * COUNT)
    topics = {'/rig/vision/object_pose': POSE, '/rig/servo_command': TRAJECTORY}
    for topic, kind in topics.items():
        recording.add(Topic(topic, kind, latched=False))
    for k in range(COUNT):
        shot = 10**9 + k * PERIOD
        angles = file.command(system, p, tilt[k])
        said = [pose(shot, ball[k])] * (1 + (k == TWICE))
        if k != UNANSWERED:
            said.append(command(stamped(shot), names[::-1], angles[::-1]))
        for n, message in enumerate(said):
            topic = next(t for t, kind in topics.items() if kind == message.__msgtype__)
            data = bytes(STORE.serialize_cdr(message, message.__msgtype__))
            recording.put(topic, shot + SHOT + n * LATE, data)
    recording.close()
    assert recording.dropped == 0
    return ball, tilt


@pytest.mark.parametrize(('drive', 'rounding'), [('gimbal', 0.5), ('legs', 1.0)])
def test_a_recording_is_read_as_a_log(tmp_path, drive, rounding):
    file = rig(drive)
    ball, tilt = recorded(tmp_path / 'bag', file)
    log = recorded_log(tmp_path / 'bag', file)
    assert log.times == pytest.approx(1e-9 * PERIOD * np.arange(COUNT), abs=1e-9)
    assert log.ball == pytest.approx(ball, abs=1e-15, nan_ok=True)
    tilt[UNANSWERED] = tilt[UNANSWERED - 1]
    assert np.abs(log.tilt - tilt).max() < rounding + 1e-9  # commands are whole counts


@pytest.mark.parametrize('drive', ['gimbal', 'legs'])
def test_tilt_is_where_angles_hold_the_plate(drive):
    file = rig(drive)
    system, p = file.system_and_parameters()
    tilt = np.random.default_rng(2).uniform(-0.15, 0.15, (20, 2))
    own = system.expand_parameters(p)
    angles = np.array([np.array(system.whole.servo_angles(t, own)).ravel() for t in tilt])
    assert file.tilts(system, p, angles) * file.servo.count == pytest.approx(tilt, abs=1e-12)


def test_answers_with_other_stamps_are_refused(tmp_path):
    file = rig('gimbal')
    recorded(tmp_path / 'bag', file, stamped=lambda shot: shot + 1)
    with pytest.raises(ParameterError, match='must stamp its answer to a frame'):
        recorded_log(tmp_path / 'bag', file)


@pytest.mark.parametrize(
    ('given', 'message'),
    [
        (('bag',), '--scenario is needed'),
        (('bag', '--scenario', 'ball_balancer', '--fit', 'gain=0:1'), 'are of a log in CSV'),
        (('bag', '--scenario', 'ball_balancer'), 'the ball rolls in|seen in fewer'),
    ],
)
def test_a_recording_needs_its_rig_and_nothing_else(tmp_path, capsys, given, message):
    """The last is read, and its balls are too few."""
    recorded(tmp_path / 'bag', rig('gimbal'))
    assert main(['identify', str(tmp_path / given[0]), *given[1:]]) == 2
    assert re.search(message, capsys.readouterr().err)
