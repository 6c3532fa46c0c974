"""A signal while a node still imports rclpy ends it without a traceback."""

import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest
from rolling_robotics.experiments import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = {e.module: e for x in EXPERIMENTS.values() for e in x.nodes}
WAITING = """\
import sys
print('importing', flush=True)
sys.stdin.read()
"""


@pytest.fixture
def environment(tmp_path):
    """An rclpy whose import goes on until the program's input is closed."""
    (tmp_path / 'rclpy').mkdir()
    (tmp_path / 'rclpy' / '__init__.py').write_text(WAITING)
    return {**os.environ, 'PYTHONPATH': f'{tmp_path}{os.pathsep}{ROOT}'}


def interrupted(command, environment, number=signal.SIGINT):
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while 'importing' not in process.stdout.readline():
            assert process.poll() is None, process.stderr.read()
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err


@pytest.mark.parametrize('module', ENTRIES)
def test_started_as_a_module(module, environment):
    assert interrupted([sys.executable, '-m', module], environment) == (0, '')


@pytest.fixture
def program(tmp_path):
    """A node as colcon installs it."""
    path = tmp_path / 'planner_node'
    path.write_text('from rolling_planner.nodes.planner_node import main\nmain()\n')
    return [sys.executable, str(path)]


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_started_as_a_program(program, environment, number):
    assert interrupted(program, environment, number) == (0, '')


def test_another_program_keeps_its_handler(environment):
    code = 'import rolling_dynamics.nodes, rclpy'
    status, text = interrupted([sys.executable, '-c', code], environment)
    assert status != 0
    assert 'KeyboardInterrupt' in text
