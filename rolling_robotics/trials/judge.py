"""When a trial in the laboratory has succeeded: one judge, in lockstep and through ROS."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from rolling_dynamics.arrays import Array

FATAL = ('edge', 'missed', 'painleve')  # events that end every trial


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """
    What success means.

    Attributes
    ----------
    goal, tolerance
        Angle of the object in the end, and its greatest distance from there [rad].
    every
        Turn after which the object looks the same, where any of these will do [rad].
    duration, last
        Length of a trial, and of its end in which the angle is judged [s].
    flights
        How often the object may leave the plate; it has to, as often.
    may_slip
        Whether the contact may slip.

    """

    goal: float
    tolerance: float = 0.05
    every: float = math.inf
    duration: float = 7.0
    last: float = 2.0
    flights: int = 0
    may_slip: bool = False

    def error(self, angles: Array) -> Array:
        """Return angles from the goal [rad], in the shape of ``angles``."""
        away = np.asarray(angles, dtype=float) - self.goal
        if not math.isfinite(self.every):
            return away
        return np.asarray(away - self.every * np.round(away / self.every))

    def rest_time(self, times: Array, angles: Array) -> float:
        """
        Return when [s] angles [rad], shape (N,), come to within the tolerance for good.

        Infinite if they never do.
        """
        away = np.flatnonzero(np.abs(self.error(angles)) > self.tolerance)
        if not away.size:
            return 0.0
        after = int(away[-1]) + 1
        return float(times[after]) if after < len(times) else math.inf


class Judge:
    """
    Watches a trial.

    Attributes
    ----------
    failure
        What went wrong first; empty as long as nothing did.

    """

    def __init__(self, criterion: Criterion) -> None:
        """Begin to watch."""
        self._criterion, self._flights = criterion, 0
        self._judged_from = criterion.duration - criterion.last
        self.failure = ''

    def happened(self, t: float, *events: str) -> None:
        """Take what happened to the contact at a time [s]: ``lift_off``, ``slip``, ``FATAL``."""
        c = self._criterion
        self._flights += events.count('lift_off')
        if self.failure:
            return
        fatal = [name for name in events if name in FATAL]
        if fatal:
            self.failure = f'{fatal[0]} at {t:.3f} s'
        elif self._flights > c.flights:
            self.failure = f'contact lost at {t:.3f} s'
        elif 'slip' in events and not c.may_slip:
            self.failure = f'friction cone left at {t:.3f} s'

    def look(self, t: float, angle: float) -> None:
        """Take the angle of the object [rad] at a time [s]."""
        if self.failure or t <= self._judged_from:
            return
        away = float(self._criterion.error(np.asarray(angle)))
        if not abs(away) <= self._criterion.tolerance:
            self.failure = f'{away:+.3f} rad off the goal at {t:.3f} s'

    def close(self) -> None:
        """Judge what can only be known in the end."""
        if not self.failure and self._flights != self._criterion.flights:
            self.failure = f'{self._flights} flights, {self._criterion.flights} are wanted'
