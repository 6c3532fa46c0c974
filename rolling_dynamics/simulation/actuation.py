"""Actuators: from commands to the controls of one or many plants."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Actuator
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation.sensing import SAME_TIME


class Actuation:
    """
    Actuators of a plant; for many plants, arrays have a row for each, and times an element.

    Attributes
    ----------
    u
        Controls in force, shape (control.size,) or (size, control.size), in their units.
    slews, plain
        Whether an actuator limits the rate of a control; whether commands take effect at once.

    """

    def __init__(
        self,
        system: RollingSystem,
        actuators: Sequence[Actuator] = (),
        limits: ArrayLike | None = None,
        size: tuple[int, ...] = (),
    ) -> None:
        """
        Take the actuators, and the number of plants if there are many.

        Raises
        ------
        ParameterError
            An actuator does not fit the system.

        """
        m = system.control.size
        self._limits, self._slew = np.full((*size, m), np.inf), np.full(m, np.inf)
        timing, self._dead_band = np.zeros((m, 2)), np.zeros(m)
        if limits is not None:
            self._limits[:] = limits
        for actuator in actuators:
            actuator.check(system)
            where = system.control.slice(actuator.control)
            timing[where] = actuator.dead_time, actuator.rate
            self._limits[..., where] = np.minimum(self._limits[..., where], actuator.limits)
            self._slew[where], self._dead_band[where] = actuator.slew, actuator.dead_band
        self.slews = bool(np.isfinite(self._slew).any())
        rows = np.unique(timing, axis=0)
        self._timings = [(*row.tolist(), (timing == row).all(axis=1)) for row in rows]
        self.plain = not (timing.any() or self.slews or self._dead_band.any())
        self.u = self._wanted = np.zeros((*size, m))
        # times at which commands take effect, their controls, and their values
        self._sent: list[tuple[Array, NDArray[np.bool_], Array]] = []

    def restart(self, u: ArrayLike, which: ArrayLike = True) -> None:
        """Set the control in force and drop pending commands; for plants in a mask if many."""
        here, first = np.asarray(which)[..., None], self._limited(u)
        self.u, self._wanted = (np.where(here, first, old) for old in (self.u, self._wanted))
        sent = [(np.where(which, np.inf, at), one, v) for at, one, v in self._sent]
        self._sent = [one for one in sent if np.isfinite(one[0]).any()]

    def send(self, u: ArrayLike, at: ArrayLike, *, due: bool = False) -> None:
        """
        Take commands u, in the units of the control.

        Parameters
        ----------
        u
            Shape (control.size,) or (size, control.size).
        at
            Time at which they are sent [s], one time or shape (size,).
        due
            Whether these times have been reached.

        """
        value = self._limited(u)
        if due and self.plain:
            self.u = self._wanted = value
            return
        for dead_time, rate, which in self._timings:
            taken = np.ceil(np.asarray(at) * rate - SAME_TIME) / rate if rate else np.asarray(at)
            self._sent.append((taken + dead_time, which, value))

    def take(self, t: ArrayLike) -> float:
        """
        Apply the commands that are due; return the time of the next one [s], or infinity.

        Parameters
        ----------
        t
            Present time [s], one time or shape (size,).

        """
        left = []
        for at, which, value in self._sent:
            here = at <= np.asarray(t) + SAME_TIME
            moves = here[..., None] & which & (np.abs(value - self._wanted) > self._dead_band)
            self._wanted = np.where(moves, value, self._wanted)
            later = np.where(here, np.inf, at)
            if np.isfinite(later).any():
                left.append((later, which, value))
        self._sent = left
        return min((float(at.min()) for at, _, _ in left), default=math.inf)

    def turn(self, dt: float) -> Array:
        """Return the controls for the next dt [s], changed as fast as the actuators allow."""
        wanted = self._wanted
        if self.slews:
            most = self._slew * dt
            wanted = self.u + np.clip(wanted - self.u, -most, most)
        self.u = wanted
        return wanted

    def _limited(self, u: ArrayLike) -> Array:
        return np.asarray(np.minimum(np.maximum(u, -self._limits), self._limits))
