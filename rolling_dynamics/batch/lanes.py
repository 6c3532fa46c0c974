"""The arrays of a batch: one column for each lane."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Index = NDArray[np.intp]
NOT_FINITE, NO_EVENT = -1, -2  # in the place of a guard


@dataclass(frozen=True, eq=False, kw_only=True)
class Lanes:
    """
    Columns of a batch, a view of some of them, or a copy of some.

    Attributes
    ----------
    x, u, p, levels
        State, control, parameters, and what the guards fall through; a column for each lane.
    slope
        Rate of the control; no rows where controls are held.
    t, goal
        Clock, and time to go to [s]; double whatever the number type.
    mode, changes, changed
        Number of the mode; how often it changed in one instant, and when that was.
    h, rejected
        Length of the next step [s], 0 where it is to be found; whether one was just refused. With
        steps of fixed length that of the step in which there is an event, 0 without.
    stop
        0 while the lane goes on; else the number of what stopped it.

    """

    x: Array
    u: Array
    slope: Array
    p: Array
    levels: Array
    t: Array
    goal: Array
    h: Array
    rejected: Array
    mode: Array
    changes: Array
    changed: Array
    stop: Array

    @classmethod
    def empty(cls, sizes: tuple[int, int, int, int, int], lanes: int, dtype: str) -> Lanes:
        """Return columns of zeros that do not go on; sizes are of x, u, slope, p, levels."""
        x, u, slope, p, levels = (np.zeros((n, lanes), dtype=dtype) for n in sizes)
        return cls(
            x=x,
            u=u,
            slope=slope,
            p=p,
            levels=levels,
            t=np.zeros(lanes),
            goal=np.zeros(lanes),
            h=np.zeros(lanes),
            rejected=np.zeros(lanes, dtype=bool),
            mode=np.zeros(lanes, dtype=np.int16),
            changes=np.zeros(lanes, dtype=np.int16),
            changed=np.full(lanes, -np.inf),
            stop=np.ones(lanes, dtype=np.int16),
        )

    @property
    def size(self) -> int:
        """Number of lanes."""
        return int(self.t.size)

    @cached_property
    def addresses(self) -> dict[str, int]:
        """Where in memory each array begins."""
        return {f.name: getattr(self, f.name).ctypes.data for f in fields(self)}

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

    def put(self, index: Index, others: Lanes, which: Index) -> None:
        """Take over state, control, clock and step of some of other lanes."""
        for name in ('x', 'u', 't', 'h', 'rejected'):
            getattr(self, name)[..., index] = getattr(others, name)[..., which]
