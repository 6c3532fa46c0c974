"""A system from outside: the example package, installed by pip, is known to every command."""

import json
import os
from pathlib import Path
import subprocess
import sys

import numpy as np
import pytest
import yaml

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / 'examples' / 'rolling_cylinder' / 'rolling_cylinder'


@pytest.fixture
def rolling(cylinder_installed, tmp_path):
    """Return a function that runs a command in a process of its own; it gives what was printed."""
    environment = os.environ | {
        'PYTHONPATH': os.pathsep.join([str(cylinder_installed), str(ROOT)])
    }

    def run(*words):
        command = [sys.executable, '-m', 'rolling_robotics.cli', *map(str, words)]
        done = subprocess.run(
            command,
            check=False,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(('package', 'most'), [('rolling_cylinder', 150), ('ballbot', 200)])
def test_it_is_as_short_as_the_page_says(package, most):
    files = (ROOT / 'examples' / package / package).glob('*.py')
    count = sum(bool(line.strip()) for f in files for line in f.read_text().splitlines())
    assert count <= most
    page = ' '.join((ROOT / 'docs' / 'extending.md').read_text().split())
    assert f'{count} lines of Python without blank ones' in page


@pytest.mark.slow
def test_it_keeps_the_contract(rolling):
    assert 'none of 18 checks failed' in rolling('check-system', 'rotor_cylinder')


def test_it_swings_like_a_pendulum_of_its_own_length(rolling, tmp_path):
    """Without torque, for small angles: (M + J/r^2) s'' = -M g s/(R - r)."""
    document = yaml.safe_load((SOURCE / 'trough.yaml').read_text())
    del document['torque'], document['plan']
    (tmp_path / 'free.yaml').write_text(yaml.safe_dump(document | {'place': 0.01, 'duration': 6}))
    rolling('simulate', 'free.yaml', '--out', 'free.json')
    arrays = json.loads((tmp_path / 'free.json').read_text())['arrays']
    place = np.array(arrays['place']['values']).ravel()
    time = np.array(arrays['time']['values'])
    falls = np.flatnonzero((place[:-1] > 0) & (place[1:] <= 0))
    crossings = [np.interp(0, place[[k + 1, k]], time[[k + 1, k]]) for k in falls]
    mass, rolling_mass, arm = 0.4 + 0.2, 0.4 + 0.2 + 0.4, 0.3 - 0.05
    period = 2 * np.pi * np.sqrt(rolling_mass * arm / (mass * 9.81))
    assert np.diff(crossings) == pytest.approx(period, rel=1e-4)


@pytest.mark.slow
def test_it_is_planned_and_drawn(rolling, tmp_path):
    rolling('plan', SOURCE / 'trough.yaml', '--out', 'plan.json')
    result = json.loads((tmp_path / 'plan.json').read_text())
    assert result['reached']
    assert result['plan']['states'][-1][0] == pytest.approx(0.25, abs=1e-3)
    rolling('animate', 'plan.json', '--out', 'plan.png')
    assert (tmp_path / 'plan.png').read_bytes()[:4] == b'\x89PNG'


@pytest.mark.slow
def test_an_editor_learns_its_entries(rolling):
    schema = json.loads(rolling('schema'))
    assert {'torque', 'plan', 'sweep'} <= set(schema['$defs']['rotor_cylinder']['properties'])
