"""An emulation as a simulator shows it: put at its start, braked, and observed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.simulation.emulation import Emulation, Measurement

ROLLING, SLIPPING, SEPARATED, STOPPED = 'rolling', 'slipping', 'separated', 'stopped'
# Contact after a guard, or a mode that the system leaves out, ended the motion.
ENDED = dict.fromkeys(('friction', 'spin', 'slip', SLIPPING), SLIPPING)
ENDED |= dict.fromkeys(('normal_force', SEPARATED), SEPARATED)
Seen = TypeVar('Seen')


class EmulatedMachine(ABC, Generic[Seen]):
    """
    A machine that is stepped in real time. Not for use from two threads at once.

    Attributes
    ----------
    emulation
        Its plant, sensors and actuators.
    start
        State that :meth:`reset` returns to, of the system in which starts are given.

    """

    def __init__(
        self,
        emulation: Emulation,
        system: RollingSystem,
        start: ArrayLike,
        shift: ArrayLike,
        turn: ArrayLike,
    ) -> None:
        """
        Keep where it starts.

        Parameters
        ----------
        emulation
            Plant, sensors and actuators.
        system, start
            System in which starts are given, and its state at the start.
        shift, turn
            Tangent vectors of that system that move it along x and y, shape (tangent.size, 2),
            and turn it about its own axes, shape (tangent.size, 3).

        """
        self.emulation, self.start = emulation, np.array(start, dtype=float)
        self._starts, self._retract = system, system.retract
        self._moves = (np.asarray(shift), 'shifted along'), (np.asarray(turn), 'turned about')
        self._measured: list[Measurement] = []
        self._news: list[str] = []

    # -- what a subclass fills in -----------------------------------------------------------

    @abstractmethod
    def brake(self) -> Array:
        """Return the control that brings it to rest."""

    @abstractmethod
    def _restart(self, x: Array) -> None:
        """Restart the emulation at a state of the system in which starts are given."""

    @abstractmethod
    def _look(self, dt: float) -> Seen:
        """Observe the emulation after a step of a duration [s]."""

    def _frees(self, u: Array) -> bool:
        """Return whether a command lets go of a machine that is held."""
        return not np.array_equal(u, self.emulation.newest)

    # -- placing ----------------------------------------------------------------------------

    def reset(self, *, position: ArrayLike = (0, 0), rotation: ArrayLike = (0, 0, 0)) -> None:
        """
        Go back to the start, or near it.

        Parameters
        ----------
        position
            Shift along x and y [m], shape (2,).
        rotation
            Rotation about its own axes [rad], shape (3,).

        Raises
        ------
        ParameterError
            It cannot be moved so.
        SimulationError
            There is no contact at that place; nothing has changed.

        """
        d = np.zeros(self._starts.tangent.size)
        for (columns, what), given in zip(self._moves, (position, rotation), strict=True):
            values = np.asarray(given, dtype=float)
            fixed = np.flatnonzero(~columns.any(axis=0) & (values != 0.0))
            if fixed.size:
                raise ParameterError(
                    f'a {self._starts.name} with this state cannot be {what} {"xyz"[fixed[0]]}'
                )
            d += columns @ values
        self._restart(np.array(self._retract(self.start, d)).reshape(-1))
        self._measured, self._news = [], []
        self._tell()
        self._seen = self._look(0.0)

    # -- stepping ---------------------------------------------------------------------------

    def step(self, u: ArrayLike, dt: float) -> None:
        """
        Advance under a command; nothing moves once the motion has ended.

        Parameters
        ----------
        u
            Command, units of the control layout.
        dt
            Duration [s], positive.

        Raises
        ------
        ParameterError
            u has another size, or is not finite.

        """
        machine = self.emulation
        u = np.asarray(u, dtype=float)
        if machine.held and self._frees(u):
            machine.held = False
        self._measured += machine.step(u, dt)
        if machine.events:
            self._tell()
        machine.forget()
        self._seen = self._look(dt)

    def _tell(self) -> None:
        self._news += [f'{e.name} at {e.time:.4f} s: {e.text}' for e in self.emulation.events]

    # -- looking ----------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.emulation.time

    @property
    def fault(self) -> str:
        """Why nothing moves any more; empty while it does."""
        ended = self.emulation.state.ended
        return '' if ended is None else f'{ended.name}: {ended.text}'

    @property
    def contact_mode(self) -> str:
        """Mode as published; after an end ``slipping``, ``separated``, else ``stopped``."""
        state = self.emulation.state
        if state.ended is None:
            return state.published_mode
        return ENDED.get(state.ended.name, STOPPED)

    def observe(self) -> Seen:
        """Return the observation after the newest step."""
        return self._seen

    def read_measurements(self) -> list[Measurement]:
        """Return what the sensors measured since the last call, with times of the emulation."""
        measured, self._measured = self._measured, []
        return measured

    def read_news(self) -> list[str]:
        """Return the events since the last call, in words."""
        news, self._news = self._news, []
        return news
