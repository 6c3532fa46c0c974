"""Prediction in a separate thread, while the loop only evaluates the newest policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import threading
import time
from typing import Any, NamedTuple
from weakref import ref, ReferenceType

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.predictive.law import PredictiveLaw
from rolling_controller.predictive.policy import Policy
from rolling_controller.predictive.pursuit import Pursuit
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Entry
from rolling_dynamics.errors import ParameterError

LOOK = 0.5  # between two looks whether the loop is still there [s]
STALE = 0.2  # age of a policy from which on the safe command is given [s]
PREDICTION = Entry(
    'prediction',
    ('prediction_step', 'plans_adopted'),
    '',
    text='number of the step from whose state the policy in use was predicted, -1 for the start '
    'of the plan; and how many plans were adopted by then',
)
NOT_AGAIN = 'the commands cannot be computed again: plans were made on the way, and are not logged'


class _Asked(NamedTuple):
    """A step: its number, time [s] and state, and the last command with its time before it."""

    number: int
    t: float
    x: Array
    last: tuple[float, Array] | None


class _Answer(NamedTuple):
    """A policy, the number of the step that it answers, and how many plans were adopted."""

    number: int
    plans: int
    policy: Policy | None


class PredictingBeside:
    """
    Predictive law whose programs are solved in a separate thread; see :class:`Law`.

    The thread starts when an answer is first requested, and ends some time after the last
    reference to the law. In simulated time, where the plant waits for its command, there is no
    thread: the loop solves the programs.

    Which policy a step uses is an input of it. A replay, which has the inputs but asks for none,
    thus solves the same programs: each from the state of a step that used the policy before.

    Attributes
    ----------
    law
        The law; it belongs to the thread, where there is one.
    pursuit
        Source of new plans; None where the law keeps one plan.
    age
        Age of the policy at the last command [s].

    """

    period: float | None = None
    opaque = PredictiveLaw.opaque

    def __init__(
        self, law: PredictiveLaw, pursuit: Pursuit | None = None, *, in_loop: bool = False
    ) -> None:
        """Predict once from the start of the plan, where it is not done in the loop."""
        self.law, self.pursuit, self.age = law, pursuit, 0.0
        self.inputs, self.output = law.inputs, law.output
        self._used = _Answer(-1, 0, None)
        self._in_loop = in_loop
        if in_loop:
            return
        self.inputs = replace(law.inputs, entries=(*law.inputs.entries, PREDICTION))
        reference, self._steps = law.reference, 0
        self._used = self._newest = self._used._replace(
            policy=law.predict(reference.origin, reference.states[0])
        )
        self._apart = FastFunction(law.difference)
        self._asked: list[_Asked] = []  # of the thread the newest, of a replay all since an answer
        self._came = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def sources(self) -> Mapping[str, Callable[[], Array]]:
        """Function that returns its own input, see :func:`rolling_controller.law.sources_of`."""
        return {} if self._in_loop else {PREDICTION.name: self._answer}

    def start(self, before: None = None) -> None:
        """Start at the start of the plan; see :class:`rolling_controller.law.Law`."""
        if self._in_loop:
            (self.pursuit or self.law).start(before)

    def step(self, memory: None, inputs: ArrayLike, t: float) -> tuple[None, Array]:
        """Return the control by the newest policy, and have the next one made from here."""
        if self._in_loop:
            _, u = (self.pursuit or self.law).step(memory, inputs, t)
            self._used = self._used._replace(policy=self.law.policy)
            self.age = _age(t, self.law.policy)
            return None, u
        *own, number, plans = np.asarray(inputs, dtype=float).tolist()
        if number != self._used.number:
            self._use_again(int(number), int(plans))
        asked = _Asked(self._steps, t, self.law.taken(own).copy(), self.law.given)
        self._steps += 1
        with self._came:
            if self._thread is None:
                self._asked.append(asked)
            elif number == self._newest.number:  # else the next step, which knows the answer
                self._asked = [asked]
                self._came.notify()
        self.age = _age(t, self._used.policy)
        used = self._used.policy if self.age <= STALE else None
        return None, self.law.commanded(t, asked.x, used, self._apart)

    def _answer(self) -> Array:
        """Use the newest answer of the thread from now on; return the input that names it."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=_predict, args=(ref(self),), name='prediction', daemon=True
            )
            self._thread.start()
        with self._came:
            self._used = self._newest
        return np.array(self._used[:2], dtype=float)

    def _use_again(self, number: int, plans: int) -> None:
        """Predict the policy of a recorded step, from the state of an earlier one."""
        if plans:
            raise ParameterError(NOT_AGAIN)
        self._asked = [asked for asked in self._asked if asked.number >= number]
        if not self._asked or self._asked[0].number != number:
            raise ParameterError(f'the log names no step {number} that a prediction begins from')
        self._newest = self._used = self._answered(self._asked[0])

    def predicted(self) -> Array:
        """Return the states that are predicted, shape (k, n); none before there is a policy."""
        policy = self._used.policy
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
        policy, reference = self._used.policy, self.law.reference
        if policy is None:
            return {}
        d = np.array(self.law.difference(policy.states[0], reference.states[-1])).ravel()
        names = self.law.system.tangent.names
        return {f'not regulated at the end: {names[k]}': float(d[k]) for k in reference.left}

    def _turn(self) -> None:
        """Predict from the newest state, if one came."""
        with self._came:
            if not self._asked:
                self._came.wait(LOOK)
            asked, self._asked = self._asked, []
        if not asked:
            return
        started = time.monotonic()
        answer = self._answered(asked[0])
        with self._came:
            self._newest, self._asked = answer, []
        time.sleep(max(self.law.horizon.period - (time.monotonic() - started), 0.0))

    def _answered(self, asked: _Asked) -> _Answer:
        """Return the prediction from a step."""
        self.law.last, policy = asked.last, self._newest.policy
        try:
            policy = (self.pursuit or self.law).predict(asked.t, asked.x)
        except Exception as e:  # noqa: BLE001  the last policy stays, and is reported to be old
            self.law.record.failed += 1
            self.law.record.trouble = f'{type(e).__name__}: {e}'
        return _Answer(asked.number, 0 if self.pursuit is None else self.pursuit.replans, policy)


def _age(t: float, policy: Policy | None) -> float:
    """Return the age of a policy at a time [s]; infinite where there is none."""
    return np.inf if policy is None else t - float(policy.times[0])


def _predict(law: ReferenceType[PredictingBeside]) -> None:
    """Predict as long as somebody holds the law."""
    while True:
        held = law()
        if held is None:
            return
        held._turn()  # noqa: SLF001  its other half
        del held
