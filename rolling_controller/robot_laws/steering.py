"""Driving by velocity: ahead is turned by command, not by the attitude of a body that tumbles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import COMMANDED, Law
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.layout import Layout

LONGEST = 0.5  # s between two steps that count: after a pause ahead has not turned on


class Steering(NamedTuple):
    """
    Memory of a law that is driven.

    Attributes
    ----------
    yaw
        Direction of travel about the normal of the floor [rad].
    time
        Of the step before [s]; None at the start.
    law
        Memory of what keeps the velocity.

    """

    yaw: float
    time: float | None
    law: Any

    def turned(self, t: float, command: Array) -> tuple[float, Array]:
        """
        Return the yaw after ahead has turned on, and the velocity in W.

        Parameters
        ----------
        t
            Time [s], increasing.
        command
            Velocity ahead and to the left [m/s], and the rate at which ahead turns [rad/s] (3).

        Returns
        -------
        tuple of float and Array
            Yaw [rad]; velocity along x and y [m/s] and turn rate [rad/s], shape (3,).

        """
        ahead, left, turn = command.tolist()
        yaw = self.yaw
        if self.time is not None:
            yaw += turn * min(max(t - self.time, 0.0), LONGEST)
        c, s = math.cos(yaw), math.sin(yaw)
        return yaw, np.array([c * ahead - s * left, s * ahead + c * left, turn])


class Steered:
    """A law of the velocity in W, driven by commands that turn; see :class:`Law`."""

    period: float | None = None

    def __init__(self, law: Law[Any], yaw: float, limits: Array, *, turns: bool = True) -> None:
        """
        Take the law and the heading.

        Parameters
        ----------
        law
            Takes the state and ``velocity_W``.
        yaw
            Heading at the start [rad].
        limits
            Greatest magnitude of each control.
        turns
            Whether it can leave its plane; else only the velocity ahead counts.

        """
        self.inputs = Layout((law.inputs.entries[0], COMMANDED))
        self.output, self.opaque = law.output, law.opaque
        self._law, self._yaw, self._limits = law, yaw, limits
        self._possible = np.array([1.0, turns, turns])

    def start(self, before: Steering | None = None) -> Steering:  # noqa: ARG002
        """Return the memory at the heading of the start."""
        return Steering(self._yaw, None, self._law.start())

    def step(self, memory: Steering, inputs: ArrayLike, t: float) -> tuple[Steering, Array]:
        """Return the memory, and the control within the limits at a time [s]."""
        x, command = np.split(np.asarray(inputs, dtype=float), [-3])
        yaw, velocity_W = memory.turned(t, self._possible * command)
        law, u = self._law.step(memory.law, np.concatenate([x, velocity_W]), t)
        return Steering(yaw, t, law), np.clip(u, -self._limits, self._limits)
