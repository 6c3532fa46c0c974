"""A run of a law, from states to commands: node and replay step the same object."""

from __future__ import annotations

from typing import Any

import numpy as np
from rolling_controller.law import check_inputs, gathered, Law, MODE, STATE
from rolling_controller.motion_watch import MotionWatch
from rolling_controller.predictor import Predictor
from rolling_dynamics.arrays import Array


class Answers:
    """
    The commands of one run.

    Attributes
    ----------
    started
        Stamp of the first state that the law answered [ns]; None before.
    fault
        Why states are no longer believed; empty while they are.
    memory
        Memory of the law.

    """

    def __init__(self, law: Law[Any], predictor: Predictor, watch: MotionWatch) -> None:
        """Begin a run of a law at its start, supervised."""
        check_inputs(law, (STATE, MODE))
        self.memory = law.start()
        self._law, self._predictor, self._watch = law, predictor, watch
        predictor.forget()
        watch.begin()
        self.fault = ''
        self.started: int | None = None

    def command(self, stamp: int, x: Array, acts: int, *, touching: bool) -> tuple[int, Array]:
        """
        Return the time [ns] at which a command acts, and the command.

        Parameters
        ----------
        stamp, x
            The state and its time [ns].
        acts
            When a command would act that is sent now [ns].
        touching
            Whether the object touches, as far as is known. In flight the model of rolling says
            nothing about what comes: the state is taken as it is.

        """
        if self.started is None:
            self.started = stamp
        self.fault = self._watch.judge(stamp, x, touching=touching).fault
        at, x = self._predictor.predict(stamp, x, acts) if touching else (stamp, x)
        given = gathered(self._law.inputs, {STATE: x, MODE: np.array([float(touching)])})
        self.memory, u = self._law.step(self.memory, given, max((at - self.started) * 1e-9, 0.0))
        u = self._watch.limited(u)
        self._predictor.note(at, u)
        return at, u
