"""A plant that is stepped in real time: it holds the state and stops where its envelope ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
import math

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, SimulationError

Step = Callable[[Array, Array, float, float], Array]


class SteppedPlant(ABC):
    """
    State of a rolling system that is stepped with held controls.

    Attributes
    ----------
    system, params, start
        The system, its parameters and its state at the start.
    x, u, time
        Present state, control in force, and time since the start [s].
    fault
        Why nothing moves any more; empty while it does.
    broken
        Name of the guard that fell below zero; empty while there is none.

    """

    def __init__(
        self,
        system: RollingSystem,
        params: ArrayLike,
        start: ArrayLike,
        step: Step,
        *,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Put the plant at its start.

        Parameters
        ----------
        system
            The system.
        params
            Its parameters p.
        start
            State x at the start, units of the state layout.
        step
            ``(x, u, dt, t) -> x``, one fixed step.
        limits
            Greatest magnitude of each control; None for no limit.

        """
        self.system = system
        self.params = np.asarray(params, dtype=float)
        self.start = np.array(start, dtype=float)
        self._step = step
        self._limits = None if limits is None else np.asarray(limits, dtype=float)
        self.x = self.start.copy()
        self.u = np.zeros(system.control.size)
        self.time = 0.0
        self.fault = self.broken = ''

    @abstractmethod
    def _look(self, x: Array, u: Array) -> Mapping[str, float]:
        """Observe a state and return the margins of its envelope by name."""

    def restart(self, x: Array) -> None:
        """Go on from a state at time zero, or raise SimulationError if it is not rolling there."""
        u, before = np.zeros_like(self.u), self.time
        self.time = 0.0
        fault = self._judge(x, u)
        if fault:
            self.time = before
            self._judge(self.x, self.u)
            raise SimulationError(f'no rolling contact at this start: {fault}')
        self.x, self.u, self.fault = x, u, ''

    def clipped(self, u: Array) -> Array:
        """Return the control within the limits."""
        if self._limits is None:
            return u
        return np.asarray(np.minimum(np.maximum(u, -self._limits), self._limits))

    def step(self, u: ArrayLike, dt: float) -> None:
        """
        Advance by dt [s] under a constant control; nothing moves once the envelope is left.

        Parameters
        ----------
        u
            Control, units of the control layout.
        dt
            Time [s], positive.

        """
        u = np.asarray(u, dtype=float)
        if u.shape != self.u.shape or not math.isfinite(u.sum()):
            raise ParameterError(f'a control takes {self.u.size} finite numbers, got {u!r}')
        begin = self.time
        self.time += dt
        if self.fault:
            return
        self.u = self.clipped(u)
        self._advance(begin, dt)

    def _advance(self, begin: float, dt: float) -> None:
        """Move the state on by one step that begins at a time, and note a fault."""
        try:
            x = np.asarray(self._step(self.x, self.u, dt, begin), dtype=float).reshape(-1)
        except SimulationError:
            self.fault = 'the state is not finite any more'
            return
        self.x = x
        self.fault = self._judge(x, self.u)

    def _judge(self, x: Array, u: Array) -> str:
        """Return what is wrong with a state, and keep the name of the guard."""
        self.broken = ''
        for name, margin in self._look(x, u).items():
            if not margin > 0.0:
                self.broken = name
                return f'the contact left its envelope: {name} = {margin:.4g}'
        return ''
