"""From states to commands, one law on one machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rolling_controller.law import check_inputs, gathered, Law, MODE, sources_of, STATE
from rolling_controller.motion_watch import MotionWatch, Predictor, Unwatched
from rolling_dynamics.arrays import Array


class Answers:
    """
    The commands of one run of a law.

    Attributes
    ----------
    law, memory
        The law, and its memory after the last command.
    given
        Inputs of the law at the last command.
    started
        Time [ns] at which the law's time is zero: the stamp of the first state where None.
    fault
        Why states are no longer believed; empty while they are.

    """

    started: int | None = None
    given: Array

    def __init__(
        self,
        law: Law[Any],
        predictor: Predictor | Unwatched,
        watch: MotionWatch | Unwatched,
        *,
        limits: Array | None = None,
        signals: Mapping[str, Callable[[], Array]] | None = None,
        measured: str = STATE,
        before: object = None,
    ) -> None:
        """
        Start a supervised run of a law.

        Parameters
        ----------
        law
            The law.
        predictor, watch
            Prediction to when commands act, and the supervisor of the states.
        limits
            Maximum magnitude of each control; None for no limit.
        signals
            Functions that return the inputs other than state and mode, by name; called at each
            command.
        measured
            Name of the input that holds the states.
        before
            Memory of the law before a break; None at its first start.

        Raises
        ------
        ParameterError
            The law takes an input that does not exist.

        """
        self._signals = {**(signals or {}), **sources_of(law)}
        check_inputs(law, (measured, MODE, *self._signals))
        self.law, self.memory, self._measured = law, law.start(before), measured
        self._predictor, self._watch, self._limits = predictor, watch, limits
        predictor.forget()
        watch.begin()
        self.fault = ''

    def acting_state(
        self,
        stamp: int,
        x: Array,
        acts: int,
        *,
        touching: bool = True,
        covariances: Array | None = None,
    ) -> tuple[int, Array]:
        """
        Check a state; return when the command that answers it acts [ns], and the state then.

        Parameters
        ----------
        stamp, x
            The state and its time [ns].
        acts
            When a command sent now would act [ns].
        touching
            Whether the object is known to be in contact. In flight the model of rolling does not
            apply: the state is used unchanged.
        covariances
            Covariances of the state, as its source declares them, see ``MotionWatch.judge``.

        """
        if self.started is None:
            self.started = stamp
        judge = self._watch.judge
        self.fault = judge(stamp, x, touching=touching, covariances=covariances).fault
        return self._predictor.predict(stamp, x, acts) if touching else (stamp, x)

    def time(self, at: int) -> float:
        """Return the time of the law [s] at a time [ns]; it starts at zero."""
        return max((at - (self.started or 0)) * 1e-9, 0.0)

    def command(self, at: int, x: Array, *, touching: bool = True) -> Array:
        """Return the control at a time [ns] in a state, within the limits."""
        mode = np.array([float(touching)])
        signals = {name: ask() for name, ask in self._signals.items()}
        self.given = gathered(self.law.inputs, {self._measured: x, MODE: mode, **signals})
        self.memory, u = self.law.step(self.memory, self.given, self.time(at))
        if self._limits is not None:
            u = np.minimum(np.maximum(u, -self._limits), self._limits)
        return u

    def sent(self, at: int, u: Array) -> Array:
        """Return a control as it is sent, limited while the motion is not believed; note it."""
        u = self._watch.limited(u)
        self._predictor.note(at, u)
        return u
