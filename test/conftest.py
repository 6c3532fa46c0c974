"""What all tests share: where the independent derivations stand, SIGINT, the mark of nodes."""

from pathlib import Path
import signal
import sys

import pytest

_DYNAMICS = str(Path(__file__).parent / 'dynamics')
if _DYNAMICS not in sys.path:
    sys.path.insert(0, _DYNAMICS)

# A shell has its background jobs ignore SIGINT, and programs started by the tests inherit that:
# those that are to end by Ctrl-C would never hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


_WITH_NODES = tuple(Path(__file__).parent / name for name in ('ros', 'launch'))


def pytest_collection_modifyitems(items):
    """Mark what starts nodes, by its folder."""
    for item in items:
        if any(folder in item.path.parents for folder in _WITH_NODES):
            item.add_marker(pytest.mark.ros)
