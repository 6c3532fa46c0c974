"""The states that a loop answers, one after the other, and the watch over their age."""

from __future__ import annotations

import math
import time

from rolling_controller.nodes.equipment import LoopEquipment
from rolling_dynamics.arrays import Array


class Intake:
    """
    Intake of states: return the newest, and report when it is too old.

    A new loop waits ``state_timeout`` of a steady clock for a first state, as there may have been
    no subscriber before. Until one is fresh enough, there is nothing to answer.

    Attributes
    ----------
    stale
        Reason to end the loop; the empty string as long as it may continue.
    worst_age
        Age of the oldest state that was answered [s].

    """

    def __init__(self, equipment: LoopEquipment) -> None:
        """Take from the machine of this equipment; the time counts from the first call."""
        self._equipment = equipment
        self._start = self._looked = math.nan
        self._answered = -1
        self._warned = False
        self.stale, self.worst_age = '', 0.0

    def take(self) -> tuple[int, Array] | None:
        """Return stamp [ns] and value of the state to answer now, or None."""
        equipment = self._equipment
        machine, timeout = equipment.machine, equipment.timeout
        machine.poll()
        now, age, clock = machine.measured.state(), machine.measured.age, time.monotonic()
        since, self._looked = clock - self._looked, clock
        if math.isnan(self._start):
            self._start, since = clock, 0.0
        if self._answered >= 0 and age > timeout / 2:
            self._warn(equipment.stale_text(since))
        if age > timeout:
            waits = equipment.patient and self._answered < 0
            if clock - self._start > timeout and not waits:
                self.stale = equipment.stale_text(since)
            return None
        if now is None or (equipment.once and now[0] == self._answered):
            return None
        self._answered = now[0]
        self.worst_age = max(self.worst_age, age)
        return now

    def _warn(self, text: str) -> None:
        """Report that states come late, each time in the diagnostics and once in the log."""
        self._equipment.machine.measured.refused = text
        if not self._warned:
            self._warned = True
            self._equipment.warn(text)
