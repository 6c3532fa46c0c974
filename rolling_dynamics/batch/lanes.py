"""The arrays of a batch: one column for each lane."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Index = NDArray[np.intp]


@dataclass(eq=False, kw_only=True)
class Lanes:
    """
    Columns of a batch, a view of some of them, or a copy of some.

    Attributes
    ----------
    x, u, p, levels
        State, control, parameters, and what the guards fall through; a column for each lane.
    t, goal
        Clock, and time to go to [s]; double whatever the number type.
    mode
        Number of the mode.
    stop
        0 while the lane goes on; else the number of what stopped it.

    """

    x: Array
    u: Array
    p: Array
    levels: Array
    t: Array
    goal: Array
    mode: Array
    stop: Array

    @classmethod
    def empty(cls, sizes: tuple[int, int, int, int], lanes: int, dtype: str) -> Lanes:
        """Return columns of zeros, none of them going on; sizes are those of x, u, p, levels."""
        x, u, p, levels = (np.zeros((n, lanes), dtype=dtype) for n in sizes)
        return cls(
            x=x,
            u=u,
            p=p,
            levels=levels,
            t=np.zeros(lanes),
            goal=np.zeros(lanes),
            mode=np.zeros(lanes, dtype=np.int16),
            stop=np.ones(lanes, dtype=np.int16),
        )

    @property
    def size(self) -> int:
        """Number of lanes."""
        return int(self.t.size)

    def part(self, where: slice) -> Lanes:
        """Return a view of neighbours."""
        return Lanes(**{f.name: getattr(self, f.name)[..., where] for f in fields(self)})

    def copied(self, index: Index) -> Lanes:
        """Return a copy of some lanes, in the order of an index."""
        return Lanes(
            **{
                f.name: np.ascontiguousarray(getattr(self, f.name)[..., index])
                for f in fields(self)
            }
        )
