"""Make the shared planning problems importable as ``planning_problems``."""

import os
from pathlib import Path
import sys

import pytest

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)


@pytest.fixture(autouse=True, scope='module')
def _interpreted():
    """Evaluate without a compiler: the same numbers, and no long first compilation."""
    before = os.environ.get('ROLLING_NO_COMPILER')
    os.environ['ROLLING_NO_COMPILER'] = '1'
    yield
    if before is None:
        del os.environ['ROLLING_NO_COMPILER']
