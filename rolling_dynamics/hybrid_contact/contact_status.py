"""State of a hybrid run: where it is, in which mode, and what has happened."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.simulation.event import Event

# mode of the equations -> mode as published in RollingContact
PUBLISHED = {
    'rolling': 'rolling',
    'pure_rolling': 'pure_rolling',
    'slipping': 'slipping',
    'pure_slipping': 'slipping',
    'separated': 'separated',
}


@dataclass(frozen=True, eq=False, kw_only=True)
class HybridState:
    """
    A state with its mode.

    Attributes
    ----------
    t
        Time [s].
    x
        State vector; not to be written to.
    mode
        Mode of the equations.
    spin_direction
        Sign of the spin that friction opposes: 1, -1, or 0 where there is no spin friction.
    off_plate
        Whether the body has left the plate over its edge, never to touch it again.
    events
        What happened in the step that led here.
    stopped
        Name of the event that ended the run, or the empty string.

    """

    t: float
    x: NDArray[np.float64]
    mode: str
    spin_direction: float = 0.0
    off_plate: bool = False
    events: tuple[Event, ...] = field(default=())
    stopped: str = ''

    @property
    def published_mode(self) -> str:
        """The mode by the names of RollingContact: rolling, pure_rolling, slipping, separated."""
        return PUBLISHED[self.mode]
