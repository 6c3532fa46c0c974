"""Make the second derivations importable: Kane's, and those derived by hand for each system."""

from pathlib import Path
import sys

_HERE = Path(__file__).parent
for _folder in (
    _HERE,
    *(_HERE.parent / n for n in ('pendulum_sphere', 'internal_masses', 'ball_balancer')),
):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))
