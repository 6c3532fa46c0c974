"""
The shipped scenarios are read as they always were: ``read.json`` holds what they gave.

Numbers are held as such and not by a digest: last bits depend on the processor, through the C
library and through the linear algebra below NumPy.
"""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from rolling_dynamics.scenario import load_scenario
from rolling_planner.planners.planner import planner_of

SCENARIOS = Path(__file__).resolve().parents[2] / 'config/scenarios'
NOT_READ = ('system', 'start_controls', 'effort')  # not from a file
READ = json.loads((Path(__file__).parent / 'read.json').read_text())
WHOLE = 60  # numbers in the longest array that is held whole


def plain(value):
    """Return a value as JSON has it, long arrays in short."""
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value) if f.name not in NOT_READ]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray) and value.size > WHOLE:
        return in_short(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


def in_short(array):
    """Return the shape of an array, some of its entries, and two sums that contain each entry."""
    flat = array.ravel()
    at = np.linspace(0, flat.size - 1, 12).astype(int)
    place = np.linspace(1, 2, flat.size)
    return {
        'shape': list(array.shape),
        'entries': flat[at].tolist(),
        'sums': [float(np.abs(flat).sum()), float(flat @ place)],
    }


def alike(found, held):
    """Compare numbers to 1e-9, all else exactly; zero is what rounding leaves of an array."""
    if isinstance(held, dict):
        return found.keys() == held.keys() and all(alike(found[key], held[key]) for key in held)
    if isinstance(held, list) and all(type(value) in (int, float) for value in held):
        zero = 1e-15 * max(map(abs, held), default=0.0)
        return len(found) == len(held) and np.allclose(found, held, 1e-9, min(zero, 1e-12))
    if isinstance(held, list):
        return len(found) == len(held) and all(map(alike, found, held))
    if isinstance(held, float):
        return found == pytest.approx(held, rel=1e-9, abs=1e-15)
    return type(found) is type(held) and found == held


def summary(scenario):
    """Return what a scenario was read to."""
    s, control = scenario, scenario.control
    out = {
        'model_hash': s.system.model_hash,
        'p': s.p,
        'x0': s.x0,
        'duration': s.duration,
        'times': s.output_times,
        'events': dict(s.events),
        'limits': [v if np.isfinite(v) else None for v in s.control_limits.tolist()],
        'tolerances': [s.tolerances.relative, s.tolerances.absolute],
        'control': [control(t, s.x0) for t in np.linspace(0, s.duration, 7)],
        'samples': control.samples,
        'held': control.held,
        'borders': list(control.borders),
        'runner': len(s.system.modes) > 1,
        'name': s.name,
        'description': s.description,
    }
    if 'plan' in s.raw:
        out['plan'] = planner_of(s.system.name).problem(s)
    return plain(out)


def test_all_are_there():
    assert sorted(READ) == sorted(path.stem for path in SCENARIOS.glob('*.yaml'))


@pytest.mark.parametrize('name', READ)
def test_read_alike(name):
    found, held = summary(load_scenario(SCENARIOS / f'{name}.yaml')), READ[name]
    different = [key for key in found | held if not alike(found.get(key), held.get(key))]
    assert not different, {key: (found.get(key), held.get(key)) for key in different}


def test_another_number_anywhere_is_seen():
    """Each number of a problem, changed by 1e-7 of itself, is found to be another."""
    held = READ['ball_thrown_to_place']['plan']

    def changed(value):
        if isinstance(value, dict):
            yield from ({**value, key: v} for key in value for v in changed(value[key]))
        elif isinstance(value, list):
            for k, inner in enumerate(value):
                yield from ([*value[:k], v, *value[k + 1 :]] for v in changed(inner))
        elif isinstance(value, float) and np.isfinite(value) and value:
            yield value * (1 + 1e-7)

    others = list(changed(held))
    assert len(others) == 43
    assert alike(held, held)
    assert not any(alike(other, held) for other in others)
