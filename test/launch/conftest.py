"""Where the helpers of these tests stand."""

from pathlib import Path
import sys

_HERE = str(Path(__file__).parent)
if _HERE not in sys.path:
    sys.path.insert(0, _HERE)
