"""The demonstrations on real nodes: they reach their goals, and Ctrl-C leaves nothing behind."""

import ast
import contextlib
from pathlib import Path
import re
import signal
import subprocess
import sys
import threading

from asking import assert_nothing_else_warned
import pytest
from rolling_robotics.experiments import EXPERIMENTS
from rolling_robotics.nodes.recorded import Recorded
from rolling_robotics.nodes.replay.laws import replay_recording
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

DEMONSTRATIONS = [name for name, experiment in EXPERIMENTS.items() if experiment.demo]
STOPPED = 'rolling: stopped by Ctrl-C; nothing was written\n'


def final_errors(text):
    """Return the printed error by law."""
    found = re.findall(r'^(open_loop|closed_loop) .*; error ([\d.e-]+)', text, re.MULTILINE)
    return {law: float(error) for law, error in found}


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
    assert_nothing_else_warned(folder / 'logs')
    return done.stdout


@pytest.mark.parametrize('name', CASES)
def test_feedback_reaches_the_goal_that_open_loop_misses(tmp_path, name):
    printed = demonstrated(tmp_path, name)
    errors = final_errors(printed)
    assert errors['open_loop'] > 5 * errors['closed_loop']
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
        runs = replay_recording(opened)
    assert all(run.same for run in runs)
    assert sum(run.equal for run in runs) > 300


def recorded(metadata):
    """Return the number of messages by topic."""
    information = yaml.safe_load(metadata.read_text())['rosbag2_bagfile_information']
    topics = information['topics_with_message_count']
    return {t['topic_metadata']['name']: t['message_count'] for t in topics}


def descendants(pid):
    """Return the processes below one, but what compiles: that outlives who asks for it."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        if b'compiled.jobs' in Path(f'/proc/{pid}/cmdline').read_bytes():
            return []
        for task in Path(f'/proc/{pid}/task').iterdir():
            for child in (task / 'children').read_text().split():
                found += descendants(int(child))
        found.append(pid)
    return found


def is_alive(pid):
    """Return whether a process still runs; its parent may not know of its end."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextlib.contextmanager
def interrupted(folder, name):
    """Yield a demonstration and its nodes' names; then press Ctrl-C, which leaves nothing."""
    demo = subprocess.Popen(
        [*DEMO, name, '--out', str(folder), '--simulated-time'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    line = ''
    while not line.startswith('starting '):
        line = demo.stdout.readline()
        assert line, demo.stderr.read()
    nodes = re.match(r'starting (.*) on ROS', line).group(1).split(', ')
    yield demo, nodes
    started = descendants(demo.pid)
    assert len(started) > len(nodes)
    demo.send_signal(signal.SIGINT)
    printed, stderr = demo.communicate(timeout=60)
    assert (demo.returncode, stderr) == (130, STOPPED), printed
    assert not [pid for pid in started if is_alive(pid)]
    statuses = re.search(r'by exit status: ({.*})', printed)
    # a node that does not listen to signals yet ends by this one
    assert not statuses or set(ast.literal_eval(statuses.group(1)).values()) == {-signal.SIGTERM}


@pytest.mark.slow
@pytest.mark.parametrize('name', DEMONSTRATIONS)
def test_ctrl_c_leaves_nothing(tmp_path, name):
    """Once the controller has its scenario; one that prepares its laws goes on with that."""
    log = tmp_path / 'logs' / 'controller.log'
    with interrupted(tmp_path, name) as (demo, _):
        until(lambda: log.exists() and log.stat().st_size, demo)


@pytest.mark.slow
@pytest.mark.parametrize('name', DEMONSTRATIONS)
def test_ctrl_c_while_nodes_start_leaves_nothing(tmp_path, name):
    with interrupted(tmp_path, name) as (demo, nodes):
        until(lambda: len(descendants(demo.pid)) > len(nodes), demo)


def until(seen, demo):
    """Wait until something is seen of a demonstration."""
    while not seen():
        assert demo.poll() is None, demo.stderr.read()
        threading.Event().wait(0.005)
