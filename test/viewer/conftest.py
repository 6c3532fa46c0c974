"""A result of a ball that rolls along x, and its scene."""

from pathlib import Path

import pytest
from rolling_robotics.cli import main
from rolling_robotics.files import read_result
from rolling_robotics.scene.general import scene_of
import yaml

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'


def simulated(folder, name, **changes):
    """Return the path of the result of an example that was changed."""
    document = yaml.safe_load((SCENARIOS / f'{name}.yaml').read_text()) | changes
    source, out = folder / f'{name}.yaml', folder / f'{name}.json'
    source.write_text(yaml.safe_dump(document))
    assert main(['simulate', str(source), '--out', str(out)]) in (0, 1)
    return out


@pytest.fixture(scope='session')
def rolling_ball(tmp_path_factory):
    """Return the path of a result: 1 s, 0.9 m along x."""
    folder = tmp_path_factory.mktemp('viewer')
    inputs = {'angular_velocity': [0, 3, 0]}
    return simulated(folder, 'spin_rolling_ball', inputs=inputs, duration=1)


@pytest.fixture(scope='session')
def plate(tmp_path_factory):
    """Return the scene of a ball on a plate that spins: there is a contact force."""
    folder = tmp_path_factory.mktemp('plate')
    return scene_of(read_result(simulated(folder, 'spinning_plate', duration=0.5)))


@pytest.fixture
def server():
    """Return a server of pages without a page."""
    from rolling_robotics.viewer.scene_server import served  # needs viser

    with served('127.0.0.1', 0) as running:
        yield running
