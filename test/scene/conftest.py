"""Results of short runs of all systems."""

import json
from pathlib import Path

import pytest
from rolling_robotics.cli import main
from rolling_robotics.files import read_result
from rolling_robotics.scene.general import scene_of
import yaml

SCENARIOS = Path(__file__).resolve().parents[2] / 'config' / 'scenarios'
SHORT = {  # example of each system, and how much of it
    'ellipsoid_on_plate': 0.6,
    'ellipsoid_in_dish': 0.6,
    'point_mass_ball': 3,
    'point_mass_disk': 3,
    'point_mass_wind': 1.5,
    'pendulum_torque': 1,
    'spin_rolling_ball': 2,
}
# made of the shapes of their views
GENERAL = {'ball_balancer': 1.8, 'labyrinth': 0.2, 'point_mass_hop': 0.2, 'driven_shell': 0.3}


def simulated(name, folder, duration):
    """Return the path of the result of an example that is made shorter."""
    document = yaml.safe_load((SCENARIOS / f'{name}.yaml').read_text())
    document |= {'name': name, 'duration': duration, 'output': {'rate': 50}}
    scenario, out = folder / f'{name}.yaml', folder / f'{name}.json'
    scenario.write_text(yaml.safe_dump(document))
    assert main(['simulate', str(scenario), '--out', str(out)]) in (0, 1)
    return out


@pytest.fixture(scope='session')
def results(tmp_path_factory):
    """Return paths of results by name of the example."""
    folder = tmp_path_factory.mktemp('scene')
    return {name: simulated(name, folder, t) for name, t in (SHORT | GENERAL).items()}


@pytest.fixture(scope='session', params=SHORT)
def result(request, results):
    return read_result(results[request.param])


@pytest.fixture(scope='session')
def scene(result):
    return scene_of(result)


@pytest.fixture
def edited(results, tmp_path):
    """Write a result with other entries, and return its path."""

    def edit(name, **entries):
        path = tmp_path / f'{name}.json'
        path.write_text(json.dumps(json.loads(results[name].read_text()) | entries))
        return path

    return edit
