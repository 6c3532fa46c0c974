"""Boxes on the plane on which a body with internal masses rolls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import casadi as ca
from rolling_dynamics.errors import ParameterError

FAR = 1e9  # m: a box without an end along y goes as far as this
SIDES = 5  # numbers of a box


@dataclass(frozen=True, kw_only=True)
class Box:
    """
    A box on the plane z = 0, its edges along the axes of W.

    Attributes
    ----------
    x, y
        Where it begins and ends [m].
    height
        Of its top over the plane [m].

    """

    x: tuple[float, float]
    height: float
    y: tuple[float, float] = (-FAR, FAR)

    def __post_init__(self) -> None:
        """Refuse a box without an inside."""
        for name, (low, high) in (('x', self.x), ('y', self.y)):
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ParameterError(
                    f'obstacle: {name} takes two increasing numbers [m], got [{low:g}, {high:g}]'
                )
        if not (math.isfinite(self.height) and self.height > 0):
            raise ParameterError(
                f'obstacle: height must be positive and finite [m], got {self.height!r}'
            )


def box_values(boxes: Sequence[Box]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return names and values of the numbers of boxes: x, y from and to, height of each."""
    sides = ('x_from', 'x_to', 'y_from', 'y_to', 'height')
    names = tuple(f'obstacle_{k}_{side}' for k in range(1, len(boxes) + 1) for side in sides)
    return names, tuple(float(v) for b in boxes for v in (*b.x, *b.y, b.height))


def distance(point: ca.SX, box: ca.SX) -> ca.SX:
    """Return the distance of a point over the plane to a box, from its SIDES numbers [m]."""
    x0, x1, y0, y1, top = ca.vertsplit(box)
    beyond = [ca.fmax(x0 - point[0], point[0] - x1), ca.fmax(y0 - point[1], point[1] - y1)]
    parts = [ca.fmax(b, 0) for b in (*beyond, point[2] - top)]
    return ca.norm_2(ca.vertcat(*parts))
