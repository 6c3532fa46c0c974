"""Ways of a set point over time, for a law that is to follow one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# From the angle of a round to the place about its middle, over half its width
PATHS: Mapping[str, Callable[[float], tuple[float, float]]] = {
    'hold': lambda _: (0.0, 0.0),
    'circle': lambda a: (math.cos(a), math.sin(a)),
    'eight': lambda a: (math.sin(a), math.sin(2 * a) / 2),
}


def place_on(path: str, radius: float, period: float, t: float) -> Array:
    """
    Return where a set point is about the middle of its way, shape (2,) [m].

    Parameters
    ----------
    path
        Name in :data:`PATHS`: `hold` stays in the middle, `circle`, or a figure `eight` along x.
    radius
        Half the width of the way [m].
    period
        Duration of a round [s].
    t
        Time since its beginning [s].

    """
    return radius * np.array(PATHS[path](2 * math.pi * t / period))
