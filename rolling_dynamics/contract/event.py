"""An event of a motion: light to import, for what only speaks of events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Event:
    """
    What happened, and when.

    Attributes
    ----------
    name
        Name of the guard, or of the change of chart.
    time
        Time [s].
    state
        State at that time; after it where the event changes the state or its charts.
    terminal
        Whether the simulation stopped there.
    text
        What it means, in one line.

    """

    name: str
    time: float
    state: NDArray[np.float64]
    terminal: bool
    text: str = ''
