"""The experiments of the laboratory on real nodes: trials succeed as they do in lockstep."""

import re
import subprocess
import sys

import pytest
from rolling_robotics.demo.laboratory.demos import LABORATORY
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


@pytest.mark.parametrize(
    ('name', 'hardware'), [*((name, 'simulated') for name in LABORATORY), ('flip_up', 'emulated')]
)
def test_every_trial_under_feedback_succeeds(tmp_path, name, hardware):
    options = ['--trials', '1', '--simulated-time', '--hardware', hardware]
    done = subprocess.run(
        [*DEMO, name, *options, '--out', str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'did not stop cleanly' not in done.stdout
    told = re.findall(ROW, done.stdout, re.MULTILINE)
    rows = {law: [int(number) for number in numbers] for law, *numbers in told}
    assert rows['closed_loop'] == [1, 1, 1, 1], done.stdout
    through_ros, in_lockstep = rows['open_loop'][0], rows['open_loop'][2]
    assert through_ros == in_lockstep
    assert (tmp_path / f'{name}.png').stat().st_size > 20_000
    assert list((tmp_path / 'recording').glob('*.mcap'))
    counts = recorded(tmp_path / 'recording' / 'metadata.yaml')
    wanted = (*RECORDED, *(SENSED if hardware == 'emulated' else ('/contact/wrench',)))
    assert all(counts.get(topic, 0) > 0 for topic in wanted), counts


def recorded(metadata):
    """Return the number of messages by topic."""
    information = yaml.safe_load(metadata.read_text())['rosbag2_bagfile_information']
    topics = information['topics_with_message_count']
    return {t['topic_metadata']['name']: t['message_count'] for t in topics}
