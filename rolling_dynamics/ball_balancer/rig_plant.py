"""An emulated rig as the simulator node steps it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rolling_dynamics.ball_balancer.emulated_rig import Array, EmulatedRig, Frame
from rolling_dynamics.robots import RobotView
from rolling_dynamics.robots.plant import RobotPlant


class RigPlant(RobotPlant):
    """
    Steps a rig: a control is what the servos are told, which they take after their dead time.

    A ball that starts at rest is held there until the first control comes.
    """

    def __init__(self, view: RobotView, start: Array, rig: EmulatedRig) -> None:
        """
        Put the ball at its start.

        Parameters
        ----------
        view
            View of the rig's system.
        start
            State at the start, of which the ball counts: the plate is level.
        rig
            The rig.

        """
        super().__init__(view, rig.p, start, lambda x, *_: x)
        self._rig, self._frames = rig, list[Frame]()

    def restart(self, x: Array) -> None:
        """Go on from the ball of a state at time zero, the plate level."""
        self._rig.restart(x[:2], x[2:4])
        self._rig.held = not x[2:4].any()
        super().restart(self._rig.state.x)
        self.u, self._frames = self._rig.u, []

    def read_frames(self) -> list[Frame]:
        """Return what the camera told since the last call, with the times of this plant."""
        frames, self._frames = self._frames, []
        return frames

    def _look(self, x: Array, u: Array) -> Mapping[str, float]:
        """Return the margins; what only changes the mode is none."""
        modes = self.system.modes[self.mode].resets
        return {n: m for n, m in super()._look(x, u).items() if n not in modes}

    def _advance(self, begin: float, dt: float) -> None:  # noqa: ARG002
        rig = self._rig
        if not np.array_equal(self.u, rig.newest):
            rig.send(self.u, begin)
            rig.held = False
        self._frames += rig.advance(self.time)
        rig.forget()
        self.x = rig.state.x
        self._look(self.x, rig.u)
        if rig.state.ended is not None:
            self.broken, self.fault = rig.state.ended.name, rig.state.ended.text
