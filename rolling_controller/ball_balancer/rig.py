"""
A law on a rig: it answers the frames of a camera, and runs in lockstep with the emulated rig.

Frames pass the supervisor first: the plate is level once they are not believed.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.ball_filter import ball_filter, Belief
from rolling_controller.ball_balancer.estimator import PATIENCE
from rolling_controller.law import Law
from rolling_controller.lockstep import ClosedLoop, run_emulated
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.rig_file import begin, emulated_rig, RigFile
from rolling_dynamics.simulation.sensing import Measurement

FRAME = ('ball_x', 'ball_y', 'set_point_x', 'set_point_y', 'begins')  # of the log of a controller
LIMITED = 0.5  # of the greatest command, while an estimate is open


class Watch(NamedTuple):
    """
    Memory of a supervised law.

    Attributes
    ----------
    law, belief
        Memories of the law and of the supervisor's filter.
    sent
        Output of the law for the frame before (2).
    stamp
        Of the newest frame that was answered [s]; not a number at the start.
    missed
        How many frames were missing before it.
    fault
        Why frames are no longer believed; empty while they are.

    """

    law: Any
    belief: Belief
    sent: Array
    stamp: float = math.nan
    missed: int = 0
    fault: str = ''


class SupervisedLaw:
    """A law with the supervisor of its frames; its output is zero from a fault on."""

    def __init__(self, file: RigFile, law: Law[Any]) -> None:
        """Take the law of a rig."""
        self.law, self.period, self.opaque = law, 1 / file.camera.rate, law.opaque
        self.inputs, self.output = law.inputs, law.output
        self._filter = ball_filter(file)

    def start(self, before: Watch | None = None) -> Watch:
        """Return the memory with the plate level, until the next frame."""
        law = self.law.start(None if before is None else before.law)
        return Watch(law, self._filter.start(), np.zeros(2))

    def step(self, memory: Watch, inputs: ArrayLike, t: float) -> tuple[Watch, Array]:
        """
        Return the memory and the output after a frame, and after those missing before it.

        Parameters
        ----------
        memory
            The memory before.
        inputs
            Where the ball is seen (2) [m], not a number where it is not; set point (2) [m].
        t
            Stamp of the frame [s].

        Returns
        -------
        Watch, NDArray
            The memory, and the tilt [counts], of a labyrinth the speeds of the servos [rad/s].

        """
        given, was, first = np.array(inputs, dtype=float), memory.law, math.isnan(memory.stamp)
        missed = 0 if first else max(round((t - memory.stamp) / self.period) - 1, 0)
        commands = [] if first else [memory.sent] * (min(missed, PATIENCE) + 1)
        for _ in commands[1:]:
            was, _ = self.law.step(was, [math.nan, math.nan, *given[2:]], t)
        belief, verdict = self._filter.step(memory.belief, given[:2], commands, t)
        if not verdict.possible:
            given[:2] = math.nan
        law, out = self.law.step(was, given, t)
        most = self._filter.most * (0.0 if verdict.fault else LIMITED if verdict.limited else 1.0)
        sent = out.clip(-most, most)
        return Watch(law, belief, sent, t, missed, verdict.fault), sent


def run_rig(
    file: RigFile,
    law: Law[Any],
    set_point: Callable[[float], Array],
    duration: float,
    seed: int = 0,
    ball: ArrayLike = (0.0, 0.0),
) -> ClosedLoop:
    """
    Return what a law does on the rig of a file, deterministic for a seed.

    Parameters
    ----------
    file
        The rig; its start and its commands over time do not matter.
    law
        The law; it knows what the camera and the set point tell. The supervisor watches it.
    set_point
        ``t -> place`` (2) [m], asked for when a frame arrives.
    duration
        How long [s].
    seed
        Random seed of maps and camera.
    ball
        Where it lies at the start (2) [m].

    """
    rig = emulated_rig(file, seed)
    begin(rig, file, ball)

    def inputs(frame: Measurement) -> Array:
        return np.concatenate([frame.value[:2], set_point(frame.arrival)])

    def control(given: Array) -> Array:
        return file.command(rig.system, rig.p, given)

    supervised, delay = SupervisedLaw(file, law), file.camera.delay
    return run_emulated(rig, supervised, inputs, duration, control, delay)
