"""`rolling calibrate` on recordings made in lockstep: from MCAP to parameters of nodes."""

import math

import numpy as np
import pytest
from rolling_hw_interface.arm import Arm, ArmModel
from rolling_hw_interface.arm_urdf import model_from
from rolling_hw_interface.emulated_camera import CameraModel
from rolling_hw_interface.motor_model import MotorModel
from rolling_robotics.calibration_report import read_parameters
from rolling_robotics.cli import main
from rolling_truth import Camera, X_WC
from test_calibration import MOUNT, recorded_motion
import yaml

pytest.importorskip('rosbags')
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

STORE = get_typestore(Stores.ROS2_JAZZY)
EPOCH = 1_700_000_000.0
JOINTS, POSES = '/lab/robot_joint_states', '/lab/vision/object_pose'
TRUE = MotorModel(coulomb=(1.8, 0.8, 0.4))


def kind(name):
    return STORE.types[name]


def header(seconds, frame=''):
    stamp = round((EPOCH + seconds) * 1e9)
    time = kind('builtin_interfaces/msg/Time')(sec=stamp // 10**9, nanosec=stamp % 10**9)
    return kind('std_msgs/msg/Header')(stamp=time, frame_id=frame)


def joint_state(t, q, tau):
    names = ['joint_1', 'joint_2', 'joint_3']
    return kind('sensor_msgs/msg/JointState')(
        header=header(t), name=names, position=q, velocity=np.zeros(3), effort=tau
    )


def pose(stamp, p, q):
    point = kind('geometry_msgs/msg/Point')(*map(float, p))
    turn = kind('geometry_msgs/msg/Quaternion')(*map(float, [*q[1:], q[0]]))
    inner = kind('geometry_msgs/msg/Pose')(position=point, orientation=turn)
    covariant = kind('geometry_msgs/msg/PoseWithCovariance')(pose=inner, covariance=np.zeros(36))
    name = 'geometry_msgs/msg/PoseWithCovarianceStamped'
    return kind(name)(header=header(stamp, 'world'), pose=covariant)


def write(folder, rows):
    """Write (topic, type, time of arrival, message) in order of arrival."""
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        made = {
            topic: writer.add_connection(topic, name, typestore=STORE)
            for topic, name in {(r[0], r[1]) for r in rows}
        }
        for topic, name, when, message in sorted(rows, key=lambda r: r[2]):
            data = STORE.serialize_cdr(message, name)
            writer.write(made[topic], round((EPOCH + when) * 1e9), data)
    return str(folder)


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    camera = Camera(CameraModel(clock_offset=0.3, clock_spread=0.0), X_WC, seed=1)
    times, joints, torques, seen = recorded_motion(2.0, TRUE, camera)
    states = zip(times, joints, torques, strict=True)
    rows = [(JOINTS, 'sensor_msgs/msg/JointState', t, joint_state(t, q, u)) for t, q, u in states]
    name = 'geometry_msgs/msg/PoseWithCovarianceStamped'
    rows += [(POSES, name, r[1], pose(r[0], r[2:5], r[5:9])) for r in seen]
    return write(tmp_path_factory.mktemp('arm') / 'recording', rows)


def test_camera_is_found_and_written(recording, tmp_path, capsys):
    known = tmp_path / 'lab.yaml'  # the bridge stood at the camera itself while this was recorded
    sections = {'camera_position': [0.0, 0, 0], 'camera_quaternion': [0.0, 0, 0, 1]}
    known.write_text(yaml.safe_dump({'/**/vision_bridge': {'ros__parameters': sections}}))
    out = tmp_path / 'found.yaml'
    mount = [str(x) for x in [*MOUNT[:3, 3], 0, 0, 0, 1]]
    arguments = ['--params', str(known), '--mount', *mount, '--out', str(out)]
    status = main(['calibrate', recording, 'camera', *arguments])
    assert status == 0
    assert 'ahead by 0.300' in capsys.readouterr().out
    found = read_parameters(out)
    assert found['camera_position'] == pytest.approx(X_WC[:3, 3], abs=2e-3)
    assert found['least_latency'] == pytest.approx(6e-3, abs=6e-4)


def test_drives_are_found_and_written(recording, tmp_path):
    out = tmp_path / 'found.yaml'
    assert main(['calibrate', recording, 'joints', '--out', str(out)]) == 0
    found = model_from(MotorModel, read_parameters(out), 'motors')
    assert found.coulomb == pytest.approx(TRUE.coulomb, rel=0.05)
    assert found.rotor_inertia == pytest.approx(TRUE.rotor_inertia, rel=0.1)


def test_object_is_found(tmp_path, capsys):
    name, rows = 'geometry_msgs/msg/PoseWithCovarianceStamped', []
    for k in range(700):
        t = k / 250
        half = (-math.pi / 2 + 0.1 * math.exp(-0.1 * t) * math.cos(9.0 * t)) / 2
        q = [math.cos(half), 0, math.sin(half), 0]
        rows.append((POSES, name, t, pose(t, [0, 0, 0.03], q)))
    folder = write(tmp_path / 'rocking', rows)
    scenario = 'scenarios/laboratory_flat.yaml'
    assert main(['calibrate', folder, 'object', '--scenario', scenario]) == 0
    out = capsys.readouterr().out
    assert 'rocks at 9.00' in out
    assert '1.1' in out


def test_friction_of_an_object_that_slides_to_rest_is_found(tmp_path, capsys):
    """On a level plate at rest, it slows down by mu g: 0.2 of 3.924 m/s^2."""
    name, rows, start = 'geometry_msgs/msg/PoseWithCovarianceStamped', [], 0.5
    slowing, held = 0.2 * 3.924, Arm(ArmModel().chain).joints_at((1, 0, 0, 0, 0, 0, 0))
    for k in range(300):
        t = k / 250
        moving = min(t, start / slowing)
        x = -0.1 + start * moving - slowing * moving**2 / 2
        place = [x, 0, 0.0252], [math.cos(math.pi / 4), 0, -math.sin(math.pi / 4), 0]
        rows.append((POSES, name, t + 8e-3, pose(t + 0.3, *place)))
    for k in range(1300):
        t = k / 1000
        rows.append((JOINTS, 'sensor_msgs/msg/JointState', t, joint_state(t, held, np.zeros(3))))
    folder = write(tmp_path / 'sliding', rows)
    scenario = 'scenarios/laboratory_flat.yaml'
    assert main(['calibrate', folder, 'sliding', '--scenario', scenario]) == 0
    assert 'mu_kinetic         0.200' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['nowhere', 'camera'], 'nowhere: there is no such folder'),
        (['RECORDING', 'object'], '--scenario'),
        (['RECORDING', 'sliding'], '--scenario'),
        (['RECORDING', 'object', '--out', 'x.yaml'], 'belong in its scenario'),
        (['RECORDING', 'camera', '--params', 'nowhere.yaml'], 'cannot be read'),
    ],
)
def test_mistakes_are_told_in_a_line(recording, capfd, arguments, text):
    status = main(['calibrate', *(recording if a == 'RECORDING' else a for a in arguments)])
    assert status == 2
    seen = capfd.readouterr().err
    assert text in seen
    assert 'Traceback' not in seen
