"""The nodes have the topics, services and actions that test/golden has recorded."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from rolling_controller.nodes.controlled_laboratory import ControlledLaboratory

ROOT = Path(__file__).resolve().parents[2]
SPEC = spec_from_file_location('golden', ROOT / 'tools' / 'golden.py')
golden = module_from_spec(SPEC)
SPEC.loader.exec_module(golden)

QUICK = ('ball_on_plate', 'flip_up')


@pytest.mark.parametrize(
    'name',
    [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in golden.EXPERIMENTS],
)
def test_graph_is_as_recorded(name, monkeypatch):
    for variable in ('ROLLING_COMPILE', 'ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(variable, 'never')  # the graph sets them; here they are put back
    # the plan of its laws makes no endpoint
    monkeypatch.setattr(ControlledLaboratory, 'prepare', lambda *_: None)
    recorded, new = golden.read('graph'), golden.plain(golden.graph([name]))
    old = {key: recorded[key] for key in new}
    assert list(golden.differences(old, new, 'graph')) == []
