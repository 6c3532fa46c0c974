"""The learner of the examples, as a module."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / 'examples' / 'learning' / 'ball_on_plate.py'


@pytest.fixture(scope='module')
def example():
    spec = importlib.util.spec_from_file_location('ball_on_plate', SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
