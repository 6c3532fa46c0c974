"""The first hour, line by line: an empty home, empty caches, and nothing else on the PATH."""

from importlib.util import find_spec
from pathlib import Path
import re
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / 'docs' / 'first_hour.md').read_text()
LINES = [
    line
    for block in re.findall(r'^```sh\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
NODES = next(k for k, line in enumerate(LINES) if line.endswith('--simulated-time --out demo'))

pytestmark = [
    pytest.mark.slow,  # compiles everything again, and starts the nodes
    pytest.mark.skipif(find_spec('viser') is None, reason='needs viser'),
]


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """Return an empty folder for the home, and one to work in."""
    return tmp_path_factory.mktemp('home'), tmp_path_factory.mktemp('work')


def walk(lines, home, folder):
    """Run lines of the page."""
    environment = {
        'HOME': str(home),
        'PATH': f'{Path(sys.executable).parent}:/usr/bin:/bin',
        'LANG': 'C.UTF-8',
        'PYTHONPATH': str(ROOT),  # of this checkout, whatever was installed
    }
    for line in lines:
        done = subprocess.run(
            ['/bin/bash', '-c', line],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert 'Traceback' not in done.stderr, line


def test_lines_without_nodes_do_what_they_say(place):
    home, folder = place
    assert NODES > 6
    walk(LINES[:NODES], home, folder)
    for name in (
        'plate.json',
        'plate.png',
        'plan.json',
        'plan.html',
        'feedback/ball_on_plate.png',
    ):
        assert (folder / name).stat().st_size > 1000


@pytest.mark.ros
@pytest.mark.skipif(find_spec('rclpy') is None, reason='needs rclpy')
def test_lines_with_nodes_do_what_they_say(place):
    home, folder = place
    walk(LINES[NODES:], home, folder)
    assert (folder / 'demo.html').stat().st_size > 1000
