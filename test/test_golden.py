"""The suite behaves as it did when test/golden was recorded; see test/golden/README.md."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
import subprocess
import sys

import pytest

ROOT = Path(__file__).resolve().parents[1]
SPEC = spec_from_file_location('golden', ROOT / 'tools' / 'golden.py')
golden = module_from_spec(SPEC)
SPEC.loader.exec_module(golden)

QUICK = ('schema', 'files')
LONG = {  # to simulate; the slow test of the whole part has them
    'balance_ellipsoid', 'ball_balancer', 'ball_in_groove', 'ball_thrown_into_dish',
    'ellipsoid_in_ellipsoidal_dish', 'hamster_ball', 'mecanum_wheel', 'omni_cart',
    'point_mass_ball',
}  # fmt: skip
QUICK_PLANS = (
    'ball_on_plate_hard', 'ball_on_plate_straight', 'laboratory_throw_catch', 'pendulum_compare',
    'point_mass_disk_straight', 'spin_rolling_plan',
)  # fmt: skip


SLOW = [
    pytest.param(p, marks=pytest.mark.slow) for p in ('simulate', 'steps', 'plans', 'lockstep')
]


@pytest.mark.parametrize('part', [*QUICK, *SLOW])
def test_part_is_as_recorded(part):
    """In a process of its own: what other tests register is in no recorded schema."""
    command = [sys.executable, ROOT / 'tools' / 'golden.py', 'compare', part]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize('name', sorted({*golden.read('simulate')} - LONG))
def test_simulation_is_as_recorded(name):
    old, new = golden.read('simulate')[name], golden.plain(golden.simulate([name]))[name]
    assert list(golden.differences(old, new, name)) == []


@pytest.mark.parametrize('name', QUICK_PLANS)
def test_plan_is_as_recorded(name):
    old, new = golden.read('plans')[name], golden.plain(golden.plans([name]))[name]
    assert list(golden.differences(old, new, name)) == []


def found(old, new):
    return list(golden.differences(old, new, 'part'))


@pytest.mark.parametrize(
    ('old', 'new', 'differs'),
    [
        ({'x': [1.0, 1e-9]}, {'x': [1.0, 2e-7]}, False),  # relative to the largest of a list
        ({'x': [1.0, 1e-9]}, {'x': [1.0, 2e-6]}, True),
        ({'x': 1e-3}, {'x': 1e-3 + 2e-9}, True),
        ({'x': 1e-3}, {'x': float('nan')}, True),
        ({'time': 0.5}, {'time': 0.5 + 5e-10}, False),
        ({'times': [0.5, 1.0]}, {'times': [0.5, 1.0 + 5e-9]}, True),
        ({'x': [1.0]}, {'x': [1.0, 2.0]}, True),
        ({'x': True}, {'x': 1.0}, True),
        ({'modes': ['rolling', 'slipping']}, {'modes': ['slipping', 'rolling']}, True),
        ({'a': 1}, {}, True),
        ({}, {'a': 1}, True),
        ({'a': {'b': 'x', 'c': [[1, 2]]}}, {'a': {'b': 'x', 'c': [[1, 2]]}}, False),
    ],
)
def test_differences_are_found(old, new, differs):
    assert bool(found(old, new)) is differs
