"""Prediction in a thread of its own, beside a loop that only evaluates its newest policy."""

from __future__ import annotations

import threading
import time
from typing import Any
from weakref import ref, ReferenceType

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.pursuit import Pursuit
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction

LOOK = 0.5  # between two looks whether the loop is still there [s]
STALE = 0.2  # age of a policy from which on the safe command is given [s]


class PredictingBeside:
    """
    A predictive law whose programs are solved beside the loop; see :class:`Law`.

    The thread ends some time after nobody holds the law any more. In simulated time, where the
    plant waits for its command, there is none: the loop solves them.

    Attributes
    ----------
    law
        The law; it belongs to the thread, where there is one.
    pursuit
        What has plans made for it; None where it keeps to one.
    age
        Age of the policy at the last command [s].

    """

    period: float | None = None
    opaque = PredictiveLaw.opaque

    def __init__(
        self, law: PredictiveLaw, pursuit: Pursuit | None = None, *, in_loop: bool = False
    ) -> None:
        """Predict once from the start of the plan, and start the thread; not in the loop."""
        self.law, self.pursuit, self.age = law, pursuit, 0.0
        self.inputs, self.output = law.inputs, law.output
        self._policy: Policy | None = None
        self._in_loop = in_loop
        if in_loop:
            return
        reference = law.reference
        self._policy = law.predict(reference.origin, reference.states[0])
        self._apart = FastFunction(law.difference)
        self._newest: tuple[float, Array] | None = None
        self._came = threading.Condition()
        threading.Thread(
            target=_predict, args=(ref(self),), name='prediction', daemon=True
        ).start()

    def start(self, before: None = None) -> None:
        """Begin at the start of the plan; see :class:`rolling_controller.law.Law`."""
        if self._in_loop:
            (self.pursuit or self.law).start(before)

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:
        """Return the control by the newest policy, and have the next one made from here."""
        if self._in_loop:
            _, u = (self.pursuit or self.law).step(memory, inputs, t)
            self._policy = policy = self.law.policy
            self.age = _age(t, policy)
            return None, u
        x = self.law.taken(inputs).copy()
        with self._came:
            self._newest, policy = (t, x), self._policy
            self._came.notify()
        self.age = _age(t, policy)
        used = policy if self.age <= STALE else None
        return None, self.law.commanded(t, x, used, self._apart)

    def predicted(self) -> Array:
        """Return the states that are predicted, shape (k, n); none before there is a policy."""
        policy = self._policy
        return np.zeros((0, self.law.system.state.size)) if policy is None else policy.states

    def health(self) -> dict[str, Any]:
        """Return what diagnostics report of predictions."""
        record = self.law.record
        values: dict[str, Any] = {
            'predictions': record.solved,
            'predictions failed': record.failed,
            'prediction time [s]': record.seconds,
            'prediction iterations': record.iterations,
            'prediction slack': record.slack,
            'prediction age [s]': self.age,
        }
        pursuit = self.pursuit
        if pursuit is not None:
            values |= {'plans adopted': pursuit.replans, 'plans failed': pursuit.failures}
        troubles = {
            'prediction problem': record.trouble,
            'replanning problem': '' if pursuit is None else pursuit.trouble,
            'goal': '' if pursuit is None else pursuit.shortfall,
        }
        return values | self._left() | {name: text for name, text in troubles.items() if text}

    def _left(self) -> dict[str, float]:
        """Return how far off its end is what no control moves there, such as a spin."""
        policy, reference = self._policy, self.law.reference
        if policy is None:
            return {}
        d = np.array(self.law.difference(policy.states[0], reference.states[-1])).ravel()
        names = self.law.system.tangent.names
        return {f'not regulated at the end: {names[k]}': float(d[k]) for k in reference.left}

    def _turn(self) -> None:
        """Predict from the newest state, if one came."""
        with self._came:
            if self._newest is None:
                self._came.wait(LOOK)
            newest, self._newest = self._newest, None
        if newest is None:
            return
        started = time.monotonic()
        try:
            policy = (self.pursuit or self.law).predict(*newest)
        except Exception as e:  # noqa: BLE001  the last policy goes on, and is reported to be old
            self.law.record.failed += 1
            self.law.record.trouble = f'{type(e).__name__}: {e}'
            return
        with self._came:
            self._policy = policy
        time.sleep(max(self.law.horizon.period - (time.monotonic() - started), 0.0))


def _age(t: float, policy: Policy | None) -> float:
    """Return how long before a time [s] a policy begins [s]; infinite where there is none."""
    return np.inf if policy is None else t - float(policy.times[0])


def _predict(law: ReferenceType[PredictingBeside]) -> None:
    """Predict as long as somebody holds the law."""
    while True:
        held = law()
        if held is None:
            return
        held._turn()  # noqa: SLF001  its other half
        del held
