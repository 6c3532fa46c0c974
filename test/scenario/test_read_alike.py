"""The shipped scenarios are read as they always were: ``read.json`` holds what they gave."""

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner.planners.planner import planner_of

SCENARIOS = Path(__file__).resolve().parents[2] / 'config/scenarios'
NOT_READ = ('system', 'start_controls', 'effort')  # not from a file
READ = json.loads((Path(__file__).parent / 'read.json').read_text())


def plain(value):
    """Return a value as JSON has it, floats to the last bit."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name not in NOT_READ]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value.hex()
    return value if value is None or isinstance(value, str | int) else type(value).__name__


def digest(value):
    text = json.dumps(plain(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def summary(scenario):
    """Return what a scenario was read to."""
    s, control = scenario, scenario.control
    out = {
        'model_hash': s.system.model_hash,
        'p': s.p.tolist(),
        'x0': s.x0.tolist(),
        'duration': s.duration,
        'times': digest(s.output_times),
        'events': dict(s.events),
        'limits': [v if np.isfinite(v) else None for v in s.control_limits.tolist()],
        'tolerances': [s.tolerances.relative, s.tolerances.absolute],
        'control': digest([control(t, s.x0) for t in np.linspace(0, s.duration, 7)]),
        'samples': None if control.samples is None else digest(control.samples),
        'held': None if control.held is None else control.held.tolist(),
        'borders': list(control.borders),
        'runner': len(s.system.modes) > 1,
        'name': s.name,
        'description': s.description,
    }
    if 'plan' in s.raw:
        out['plan'] = digest(planner_of(s.system.name).problem(s))
    return out


def test_all_are_there():
    assert sorted(READ) == sorted(path.stem for path in SCENARIOS.glob('*.yaml'))


@pytest.mark.parametrize('name', READ)
def test_read_alike(name):
    found = summary(load_scenario(SCENARIOS / f'{name}.yaml'))
    assert found | {'x0': []} == READ[name] | {'x0': []}
    # a state may be computed, and another version of NumPy gives other last bits
    assert found['x0'] == pytest.approx(READ[name]['x0'], rel=1e-14, abs=1e-15)
