"""Make the plants importable, and give one of every kind."""

from pathlib import Path
import sys

import numpy as np
import pytest

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)

from robot_plants import make_plant, ROBOTS  # noqa: E402


@pytest.fixture(params=ROBOTS)
def robot(request):
    """A plant of each kind of robot, and controls that move it gently in all directions."""
    plant = make_plant(ROBOTS[request.param])
    size = {'pendulum_sphere': 0.02}.get(request.param, 0.3)
    rng = np.random.default_rng(3)
    controls = size * rng.uniform(0.3, 1.0, (20, plant.view.system.control.size))
    return plant, np.repeat(controls, 20, axis=0)
