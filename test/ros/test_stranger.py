"""A machine with nothing but equations and a scenario, from outside, and unstable too."""

import os
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def rolling(stranger_installed, tmp_path):
    """Return a function that runs a command in a process of its own."""
    path = os.pathsep.join([str(stranger_installed), str(ROOT)])

    def run(*words, timeout=200):
        command = [sys.executable, '-m', 'rolling_robotics.cli', *map(str, words)]
        done = subprocess.run(
            command,
            check=False,
            cwd=tmp_path,
            env=os.environ | {'PYTHONPATH': path},
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.timeout(700)  # three commands, each within its own time
def test_its_example_is_known_by_name_planned_and_drawn(rolling, tmp_path):
    assert 'drives one metre and stands there' in rolling('examples', 'ballbot')
    told = rolling('plan', 'ballbot', '--out', 'plan.json')
    assert 'goal reached' in told
    assert 'growth of errors' in told
    rolling('animate', 'plan.json', '--out', 'plan.png')  # by the axes of its bodies
    assert (tmp_path / 'plan.png').read_bytes()[:4] == b'\x89PNG'


@pytest.mark.slow  # as the other demonstrations on nodes
def test_its_demonstration_simulates_plans_and_controls_it(rolling, tmp_path):
    """Held at its start: falling, it would end before it is planned for."""
    told = rolling('demo', 'ballbot', '--simulated-time', '--out', 'demo')
    assert 'the contact was lost' in told
    assert 'every trial under feedback has succeeded' in told
    assert (tmp_path / 'demo' / 'ballbot.png').is_file()
