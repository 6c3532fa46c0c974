"""
The direction in which slip begins.

Coulomb friction makes the acceleration of slip depend on its direction d. Slip that grows from
rest keeps a direction with a(d) parallel to d; of those directions, it is drawn to the ones where
a(d) turns back what has turned away.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array

DIRECTIONS = 36  # looked at on the circle


class Onset(NamedTuple):
    """Slip that begins: its acceleration (2) [m/s^2], normal force [N], Painleve's margin."""

    acceleration: Array
    normal_force: float
    margin: float

    def grows(self, direction: Array) -> bool:
        """Tell whether slip in this direction, a unit vector, can begin."""
        determined = self.normal_force > 0 and self.margin > 0
        return determined and float(self.acceleration @ direction) > 0


def slip_direction(onset: Callable[[Array], Onset], likely: Array, *, planar: bool) -> Array:
    """
    Return the unit vector along which slip begins.

    Parameters
    ----------
    onset
        ``direction (2,) -> Onset``.
    likely
        What is chosen if several directions fit: the nearest to this one; shape (2,).
    planar
        Whether there is only the first of the two directions.

    """
    middle = math.atan2(likely[1], likely[0]) if np.any(likely) else 0.0
    if planar:
        sign = 1.0 if likely[0] >= 0 else -1.0
        d = np.array([sign, 0.0])
        return -d if not onset(d).grows(d) and onset(-d).grows(-d) else d

    def across(angle: float) -> float:
        a = onset(_unit(angle)).acceleration
        return float(-a[0] * math.sin(angle) + a[1] * math.cos(angle))

    step = 2 * math.pi / DIRECTIONS
    angles = [middle + (k - DIRECTIONS / 2 + 0.5) * step for k in range(DIRECTIONS + 1)]
    values = [across(angle) for angle in angles]
    found = []
    for k in range(DIRECTIONS):
        if values[k] > 0 >= values[k + 1]:
            angle = _root(across, angles[k], angles[k + 1])
            d = _unit(angle)
            found.append((not onset(d).grows(d), abs(angle - middle), angle))
    return _unit(min(found)[2]) if found else _unit(middle)


def _unit(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where f falls through zero between low and high."""
    for _ in range(48):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return (low + high) / 2
