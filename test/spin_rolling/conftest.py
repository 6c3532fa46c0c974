"""Make the formulas of the paper importable."""

from pathlib import Path
import sys

if str(Path(__file__).parent) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parent))
