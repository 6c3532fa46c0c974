"""The state now, from a state some milliseconds ago and the commands since."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import Stepper

KEPT = 2000  # commands that are remembered
LONGEST_STEP = 5e-3  # of the integration [s]


class Predictor:
    """
    Integrates the model from the time of a measurement to the present.

    A command acts from its time until the next one does. Compensating the age of
    the state this way keeps the margin of delay that a regulator of unstable motion lacks.

    Attributes
    ----------
    delay
        Time from a command to its effect [ns].
    origin
        Where the time of the model is zero [ns]; matters to systems that depend on it.

    """

    def __init__(
        self, system: RollingSystem, params: ArrayLike, *, delay: float, horizon: float
    ) -> None:
        """
        Compile the step.

        Parameters
        ----------
        system, params
            The model and its parameters p.
        delay
            Time from a command to its effect [s].
        horizon
            Longest time that is predicted [s]; 0 switches prediction off.

        """
        self._step = Stepper(system, params, max_step=LONGEST_STEP).step
        self.delay, self._horizon = round(delay * 1e9), round(horizon * 1e9)
        self.origin = 0
        self._idle = np.zeros(system.control.size)
        self._commands: deque[tuple[int, NDArray[np.float64]]] = deque(maxlen=KEPT)

    def forget(self) -> None:
        """Forget the commands: the hand was left alone."""
        self._commands.clear()

    def note(self, stamp: int, u: NDArray[np.float64]) -> None:
        """Remember a command that acts from a time [ns] on."""
        self._commands.append((stamp, u))

    def predict(
        self, stamp: int, x: NDArray[np.float64], now: int
    ) -> tuple[int, NDArray[np.float64]]:
        """
        Return time and state as near to the present as the horizon allows.

        Parameters
        ----------
        stamp, x
            Time [ns] and state of the measurement.
        now
            The present [ns].

        """
        end = min(now, stamp + self._horizon)
        return (end, self.model(x, stamp, end)) if end > stamp else (stamp, x)

    def model(self, x: NDArray[np.float64], stamp: int, end: int) -> NDArray[np.float64]:
        """Return the state at a later time [ns] of the model under the commands remembered."""
        acting, later = self._idle, []
        for since, u in reversed(self._commands):
            if since <= stamp:
                acting = u
                break
            if since < end:
                later.append((since, u))
        at = stamp
        for sent, u in reversed(later):
            since = max(sent, at)  # one that acts before the one sent earlier replaces it
            x = self._between(x, acting, at, since)
            at, acting = since, u
        return self._between(x, acting, at, end)

    def _between(
        self, x: NDArray[np.float64], u: NDArray[np.float64], begin: int, end: int
    ) -> NDArray[np.float64]:
        return self._step(x, u, (end - begin) * 1e-9, (begin - self.origin) * 1e-9)
