"""By how much the trials are off what the controller believes, drawn from their seeds."""

from __future__ import annotations

import numpy as np
from rolling_robotics.demo.laboratory.seen import Offset

SHIFT, TURN = 5e-3, 0.05  # of the object at the start [m], [rad]
SHARE = 0.1  # by which inertia and rolling resistance are off


def offset(seed: int) -> Offset:
    """Return the offset of a trial: of full size, with signs drawn from the seed."""
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=4)
    return Offset(
        inertia=float(1 + signs[0] * SHARE),
        resistance=float(1 + signs[1] * SHARE),
        shift=float(signs[2] * SHIFT),
        turn=float(signs[3] * TURN),
    )
