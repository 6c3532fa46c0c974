"""One experiment of the laboratory: where it starts, its laws, and when it has succeeded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math

import numpy as np
from numpy.typing import NDArray
from rolling_controller.laboratory.laws import ExperimentLaw
from rolling_dynamics.hybrid_contact.laboratory import Laboratory
from rolling_hw_interface.arm_model import ArmModel

Array = NDArray[np.float64]
FATAL = ('edge', 'missed', 'painleve')  # events that end every trial


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """
    An experiment.

    Attributes
    ----------
    name, laboratory
        Which, and with what.
    start
        State of planar rolling from which it is believed to start, at rest.
    duration, last
        Length of a trial, and of its end in which the object has to be at its goal [s].
    goal, tolerance
        Turn of the object in the world, and its greatest distance from there in the end [rad].
    laws
        Makers of the laws that are compared, by name.
    every
        Turn after which the object looks the same, where any of these will do [rad].
    flights
        How often the object may leave the plate; it has to, as often.
    may_slip
        Whether the contact may slip.
    arm
        Which carries the plate.

    """

    name: str
    laboratory: Laboratory
    start: Array
    duration: float
    goal: float
    tolerance: float
    laws: Mapping[str, Callable[[], ExperimentLaw]]
    last: float = 2.0
    every: float = math.inf
    flights: int = 0
    may_slip: bool = False
    arm: ArmModel = field(default_factory=ArmModel)

    def error(self, angle: float) -> float:
        """Return the turn of the object from its goal [rad]."""
        away = angle - self.goal
        return math.remainder(away, self.every) if math.isfinite(self.every) else away


class Judge:
    """
    Watches a trial.

    Attributes
    ----------
    failure
        What went wrong first; empty as long as nothing did.

    """

    def __init__(self, experiment: Experiment) -> None:
        """Begin to watch."""
        self._experiment, self._flights = experiment, 0
        self.failure = ''

    def look(self, t: float, angle: float, events: tuple[str, ...]) -> None:
        """Take the turn of the object in the world [rad] and what happened up to a time [s]."""
        e = self._experiment
        self._flights += events.count('lift_off')
        if self.failure:
            return
        fatal = [name for name in events if name in FATAL]
        if fatal:
            self.failure = f'{fatal[0]} at {t:.3f} s'
        elif self._flights > e.flights:
            self.failure = f'contact lost at {t:.3f} s'
        elif 'slip' in events and not e.may_slip:
            self.failure = f'friction cone left at {t:.3f} s'
        elif t > e.duration - e.last and abs(e.error(angle)) > e.tolerance:
            self.failure = f'{e.error(angle):+.3f} rad off the goal at {t:.3f} s'

    def close(self) -> None:
        """Judge what can only be known in the end."""
        if not self.failure and self._flights != self._experiment.flights:
            self.failure = f'{self._flights} flights, {self._experiment.flights} are wanted'
