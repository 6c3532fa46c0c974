"""The demonstrations on real nodes: they reach their goals, and Ctrl-C leaves nothing behind."""

import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.replayer import replay
import yaml

pytest.importorskip('rclpy')

DEMO = [sys.executable, '-m', 'rolling_robotics.cli', 'demo']
ROBOT = ('/robot/state', '/robot/control', '/odom', '/tf', '/plan/object_path')
RECORDED = {
    'ball_on_plate': ('/object/odometry', '/hand/accel_command', '/contact/wrench', '/plan/hand'),
    'butterfly': ('/object/odometry', '/hand/accel_command', '/contact/wrench', '/plan/hand'),
    'point_mass_ball': (*ROBOT, '/joint_states', '/contact/wrench'),
    'point_mass_disk': (*ROBOT, '/joint_states', '/contact/wrench'),
    'pendulum_sphere': (*ROBOT, '/joint_states', '/contact/wrench'),
    'spin_rolling': ROBOT,
}
CASES = [
    pytest.param('ball_on_plate', marks=pytest.mark.slow),
    pytest.param('butterfly', marks=pytest.mark.slow),
    pytest.param('point_mass_ball', marks=pytest.mark.slow),
    pytest.param('point_mass_disk', marks=pytest.mark.slow),
    pytest.param('pendulum_sphere', marks=pytest.mark.slow),
    pytest.param('spin_rolling', marks=pytest.mark.slow),
]


def final_errors(text):
    """Return the printed error and distance [mm] by label of the execution."""
    found = re.findall(r'^  (open|closed) loop +([\d.]+) +([\d.]+)$', text, re.MULTILINE)
    return {label: (float(error), float(distance)) for label, error, distance in found}


def demonstrated(folder, *arguments):
    """Run a demonstration in simulated time; return what it printed."""
    done = subprocess.run(
        [*DEMO, *arguments, '--out', str(folder), '--simulated-time'],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'did not stop cleanly' not in done.stdout
    return done.stdout


@pytest.mark.parametrize('name', CASES)
def test_feedback_reaches_the_goal_that_open_loop_misses(tmp_path, name):
    printed = demonstrated(tmp_path, name)
    assert 'the goal was reached' in printed
    errors = final_errors(printed)
    for open_loop, closed_loop in zip(errors['open'], errors['closed'], strict=True):
        assert open_loop > 5 * closed_loop
    assert (tmp_path / f'{name}.png').stat().st_size > 50_000
    assert list((tmp_path / 'recording').glob('*.mcap'))
    counts = recorded(tmp_path / 'recording' / 'metadata.yaml')
    assert all(counts.get(topic, 0) > 0 for topic in RECORDED[name]), counts


@pytest.mark.slow
@pytest.mark.parametrize('law', ['lqr', 'exported'])
def test_the_ball_balancer_comes_to_every_set_point(tmp_path, law):
    """By a law here, and by the C that is for a board."""
    printed = demonstrated(tmp_path, 'ball_balancer', '--law', law)
    assert '4 of 4 jumps ended within 5 mm' in printed
    assert (tmp_path / 'ball_balancer.png').stat().st_size > 20_000
    counts = recorded(tmp_path / 'recording' / 'metadata.yaml')
    topics = ('/robot/state', '/servo_command', '/vision/object_pose', '/set_point')
    assert all(counts.get(topic, 0) > 0 for topic in topics), counts
    assert_replayed(tmp_path / 'recording')


@pytest.mark.slow
def test_the_labyrinth_is_passed(tmp_path):
    printed = demonstrated(tmp_path, 'labyrinth')
    speed = re.search(r'for a path of 1\.915 m, ([\d.]+) m/s', printed)
    assert float(speed.group(1)) > 0.135
    assert (tmp_path / 'labyrinth.png').stat().st_size > 50_000
    counts = recorded(tmp_path / 'recording' / 'metadata.yaml')
    topics = ('/robot/state', '/servo_command', '/vision/object_pose', '/plan/object_path')
    assert all(counts.get(topic, 0) > 0 for topic in topics), counts
    assert_replayed(tmp_path / 'recording')


def assert_replayed(recording):
    """All commands come out of a replay bit by bit."""
    with Recorded(recording) as opened:
        runs = replay(opened)
    assert all(run.same for run in runs)
    assert sum(run.equal for run in runs) > 300


def recorded(metadata):
    """Return the number of messages by topic."""
    information = yaml.safe_load(metadata.read_text())['rosbag2_bagfile_information']
    topics = information['topics_with_message_count']
    return {t['topic_metadata']['name']: t['message_count'] for t in topics}


@pytest.mark.slow
@pytest.mark.parametrize('name', ['ball_on_plate', 'spin_rolling'])
def test_ctrl_c_leaves_nothing(tmp_path, name):
    demo = subprocess.Popen(
        [*DEMO, name, '--out', str(tmp_path), '--simulated-time'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = ''
    while 'nodes are up' not in line:
        line = demo.stdout.readline()
        assert line, demo.stderr.read()
    children = [
        int(p) for p in Path(f'/proc/{demo.pid}/task/{demo.pid}/children').read_text().split()
    ]
    assert len(children) == 4
    demo.send_signal(signal.SIGINT)
    _, stderr = demo.communicate(timeout=60)
    assert demo.returncode != 0
    assert 'Traceback' not in stderr
    assert 'crashed' not in stderr
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
