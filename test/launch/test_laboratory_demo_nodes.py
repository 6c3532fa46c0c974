"""The experiments of the laboratory on real nodes: trials succeed as they do in lockstep."""

import re
import subprocess
import sys

from asking import assert_nothing_else_warned
import pytest
from rolling_robotics.demo.laboratory import LABORATORY
import yaml

pytest.importorskip('rclpy')
pytestmark = [pytest.mark.slow, pytest.mark.timeout(960)]

DEMO = [sys.executable, '-m', 'rolling_robotics.cli', 'demo']
ROW = r'^  (\w+) +(\d+) of (\d+) +(\d+) of (\d+)$'
RECORDED = (
    '/hand/odometry',
    '/hand/accel_command',
    '/object/odometry',
    '/object/ground_truth',
    '/contact/state',
    '/controller/steps',
)
SENSED = ('/robot_joint_states', '/robot_joint_command', '/camera/markers', '/vision/object_pose')


def demonstrated(folder, name, hardware, trials, law=''):
    """Run trials in simulated time; return what was printed."""
    options = ['--trials', str(trials), '--simulated-time', '--hardware', hardware]
    options += ['--law', law] if law else []
    done = subprocess.run(
        [*DEMO, name, *options, '--out', str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'did not stop cleanly' not in done.stdout
    assert_nothing_else_warned(folder / 'logs')
    return done.stdout


def test_a_robot_reaches_its_goal_by_its_emulated_sensors(tmp_path):
    printed = demonstrated(tmp_path, 'two_wheeler', 'emulated', 0)
    assert 'closed_loop           1 of 1          1 of 1' in printed


@pytest.mark.parametrize(
    ('name', 'hardware'), [*((name, 'simulated') for name in LABORATORY), ('flip_up', 'emulated')]
)
def test_every_trial_under_feedback_succeeds(tmp_path, name, hardware):
    """On a flip-up by the predictive law, and by the usual one beside it."""
    law = 'predictive' if name == 'flip_up' else ''
    printed = demonstrated(tmp_path, name, hardware, 1, law)
    told = re.findall(ROW, printed, re.MULTILINE)
    rows = {law: [int(number) for number in numbers] for law, *numbers in told}
    assert all(rows[name] == [1, 1, 1, 1] for name in {law, 'closed_loop'} - {''}), printed
    through_ros, in_lockstep = rows['open_loop'][0], rows['open_loop'][2]
    assert through_ros == in_lockstep
    assert (tmp_path / f'{name}.png').stat().st_size > 20_000
    assert list((tmp_path / 'recording').glob('*.mcap'))
    counts = recorded(tmp_path / 'recording' / 'metadata.yaml')
    wanted = (
        *RECORDED,
        *(['/predicted_path'] if law else []),
        *(SENSED if hardware == 'emulated' else ('/contact/wrench',)),
    )
    assert all(counts.get(topic, 0) > 0 for topic in wanted), counts


def test_three_of_three_are_balanced_on_an_arm_in_space(tmp_path):
    """Joints, motors and camera emulated; a demonstration fails where a limit is passed."""
    printed = demonstrated(tmp_path, 'balance_3d', 'emulated', trials=3)
    assert printed.count(': success;') == 3, printed
    assert 'limits of the joints, at most:' in printed


def recorded(metadata):
    """Return the number of messages by topic."""
    information = yaml.safe_load(metadata.read_text())['rosbag2_bagfile_information']
    topics = information['topics_with_message_count']
    return {t['topic_metadata']['name']: t['message_count'] for t in topics}
