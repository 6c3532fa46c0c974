"""The simulated robot through every mode that it has: it slides and flies after rolling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.mode import MotionState
from rolling_dynamics.errors import ParameterError, SimulationError
from rolling_dynamics.robots.observation import MotionObserver, Observation
from rolling_dynamics.robots.plant import RobotPlant
from rolling_dynamics.robots.view import AllModes, RobotView

ROLLING = 'rolling'


class HybridRobotPlant(RobotPlant):
    """
    A robot whose motion goes on where rolling ends.

    The state ``x`` is that of the rolling robot: in flight it lacks height and velocity of the
    centre, which stand in the observation.
    """

    def __init__(
        self,
        view: RobotView,
        params: ArrayLike,
        start: ArrayLike,
        *,
        brake_time: float = 0.1,
        limits: ArrayLike | None = None,
        sliding: bool = True,
    ) -> None:
        """
        Put the robot at its start.

        Parameters
        ----------
        view, params, start, brake_time, limits
            See :class:`RobotPlant`.
        sliding
            Whether the motion goes on after slip begins.

        Raises
        ------
        ParameterError
            This kind of robot can only roll.

        """
        if view.all_modes is None:
            raise ParameterError(
                f'a {view.system.name} has the mode {next(iter(view.system.modes))!r} alone, no '
                'motion beyond it can be simulated'
            )
        super().__init__(view, params, start, _no_step, brake_time=brake_time, limits=limits)
        self._all: AllModes = view.all_modes(sliding)
        self._observers = {
            mode: MotionObserver(self._all.view, self.params, mode)
            for mode in self._all.view.system.modes
        }
        self._state = self._all.begin(self.x)

    def restart(self, x: Array) -> None:
        """Go on from a state at time zero; one on the plane must be rolling or slipping there."""
        state = self._all.begin(x)
        if state.mode == ROLLING:
            super().restart(x)
        else:
            self.x, self.u, self.time = x, np.zeros_like(self.u), 0.0
            self.fault = self.broken = ''
        self._state, self._news = state, []
        self._tell(state)
        self._seen = self._see()

    def _advance(self, begin: float, dt: float) -> None:  # noqa: ARG002
        try:
            state = self._all.step(self._state, self.u, dt)
        except SimulationError as error:
            self.fault = str(error)
            return
        self._state, self.x = state, self._all.project(state.x)
        self._tell(state)
        self._seen = self._see()
        self._follow_heading(dt)

    def _tell(self, state: MotionState) -> None:
        self._news += [f'{e.name} at {e.time:.4f} s: {e.text}' for e in state.events]
        if state.ended is not None:
            self.broken, self.fault = state.ended.name, state.ended.text

    def _see(self) -> Observation:
        state = self._state
        seen = self._observers[state.mode].look(state.x, self.u, self.time)
        return replace(seen, x=self.x)

    @property
    def contact_mode(self) -> str:
        """``rolling``, ``slipping``, ``separated``; ``stopped`` at an end that is no slip."""
        if self.fault:
            return super().contact_mode
        return self._state.published_mode


def _no_step(_x: Array, _u: Array, _dt: float, _t: float) -> Array:
    raise SimulationError('the motion through all modes is stepped by itself')
