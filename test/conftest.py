"""What all tests share: where the independent derivations stand, and a SIGINT that is heard."""

from pathlib import Path
import signal
import sys

_DYNAMICS = str(Path(__file__).parent / 'dynamics')
if _DYNAMICS not in sys.path:
    sys.path.insert(0, _DYNAMICS)

# A shell has its background jobs ignore SIGINT, and programs started by the tests inherit that:
# those that are to end by Ctrl-C would never hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)
