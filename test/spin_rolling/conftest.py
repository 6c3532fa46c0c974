"""Make the seeded pairs importable as ``pairs``; plans are found by machine code."""

from pathlib import Path
import sys

import pytest

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)


@pytest.fixture(autouse=True, scope='session')
def _compiled(shooting_compiled):
    pass
