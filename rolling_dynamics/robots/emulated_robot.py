"""A machine with its sensors and actuators as the simulator node steps it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.robots.plant import RobotPlant
from rolling_dynamics.robots.view import RobotView
from rolling_dynamics.simulation.emulation import Emulation, Measurement


class EmulatedRobot(RobotPlant):
    """
    Steps the emulation of a machine: a control is a command, which its actuators take.

    A machine that starts at rest is held there until the first command comes.
    """

    def __init__(self, view: RobotView, start: Array, emulation: Emulation) -> None:
        """
        Put the machine at its start.

        Parameters
        ----------
        view
            View of the system.
        start
            State at the start.
        emulation
            The machine.

        """
        self._emulation = emulation
        super().__init__(view, emulation.p, start, lambda x, *_: x)

    def restart(self, x: Array) -> None:
        """Continue from a state at time zero, under the safe control."""
        super().restart(x)
        self.u = self.brake()
        self._emulation.restart(x, self.u)
        self._emulation.held = not self.observe().velocity.any()
        self._measured = list[Measurement]()

    def read_measurements(self) -> list[Measurement]:
        """Return what the sensors measured since the last call, with the times of this plant."""
        measured, self._measured = self._measured, []
        return measured

    def _look(self, x: Array, u: Array) -> Mapping[str, float]:
        """Return the margins without those that only change the mode."""
        modes = self.system.modes[self.mode].resets
        return {n: m for n, m in super()._look(x, u).items() if n not in modes}

    def _advance(self, begin: float, dt: float) -> None:  # noqa: ARG002
        machine = self._emulation
        if not np.array_equal(self.u, machine.newest):
            machine.send(self.u, begin)
            machine.held = False
        self._measured += machine.advance(self.time)
        machine.forget()
        self.x = machine.state.x
        self._look(self.x, machine.u)
        if machine.state.ended is not None:
            self.broken, self.fault = machine.state.ended.name, machine.state.ended.text
