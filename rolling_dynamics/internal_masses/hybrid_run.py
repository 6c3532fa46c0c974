"""What a motion through several modes leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation import Event, Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Phase:
    """A stretch of motion in one mode."""

    mode: str
    trajectory: Trajectory

    @property
    def start(self) -> float:
        """Time at its start [s]."""
        return self.trajectory.segments[0].start

    @property
    def end(self) -> float:
        """Time at its end [s]."""
        return self.trajectory.segments[-1].end


@dataclass(frozen=True, eq=False)
class HybridRun:
    """
    A motion through several modes.

    Attributes
    ----------
    phases
        In order of time.
    events
        Changes of mode: ``lift_off``, ``slip``, ``stick``, ``landing``; and what ended the run:
        ``painleve``, ``friction``, ``stop_1`` and so on, ``detached``, ``jammed``.
    end, final_state
        Time [s] and state at the end.

    """

    phases: tuple[Phase, ...]
    events: tuple[Event, ...]
    end: float
    final_state: Array

    @property
    def terminal_event(self) -> Event | None:
        """What ended the run before its time."""
        return self.events[-1] if self.events and self.events[-1].terminal else None

    def phase_at(self, t: float) -> Phase:
        """Return the phase that holds a time; at a border the later one."""
        for phase in reversed(self.phases):
            if phase.start <= t <= phase.end:
                return phase
        raise ParameterError(f't = {t:.9g} s lies outside the run, which ends at {self.end:.9g} s')

    def state_at(self, t: float) -> Array:
        """Return the state at a time."""
        return self.phase_at(t).trajectory.state_at(t)
