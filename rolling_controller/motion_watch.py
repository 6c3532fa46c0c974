"""Motion as predicted, and as it is measured: what the supervisor of a loop compares."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.supervisor import Memory, Sample, Source, step, Verdict
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.layout import Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import Stepper

KEPT = 2000  # commands that are remembered
LONGEST_STEP = 5e-3  # of the integration [s]


class Predictor:
    """
    Integrates the model from the time of a measurement to the present.

    A command acts from its time until the next one does. Compensating the age of
    the state this way keeps the margin of delay that a regulator of unstable motion lacks.

    Attributes
    ----------
    delay
        Time from a command to its effect [ns].
    origin
        Where the time of the model is zero [ns]; matters to systems that depend on it.

    """

    def __init__(
        self, system: RollingSystem, params: ArrayLike, *, delay: float, horizon: float
    ) -> None:
        """
        Compile the step.

        Parameters
        ----------
        system, params
            The model and its parameters p.
        delay
            Time from a command to its effect [s].
        horizon
            Longest time that is predicted [s]; 0 switches prediction off.

        """
        self._step = Stepper(system, params, max_step=LONGEST_STEP).step
        self.delay, self._horizon = round(delay * 1e9), round(horizon * 1e9)
        self.origin = 0
        self._idle = np.zeros(system.control.size)
        self._commands: deque[tuple[int, Array]] = deque(maxlen=KEPT)

    def forget(self) -> None:
        """Forget the commands: the hand was left alone."""
        self._commands.clear()

    def note(self, stamp: int, u: Array) -> None:
        """Remember a command that acts from a time [ns] on."""
        self._commands.append((stamp, u))

    def predict(self, stamp: int, x: Array, now: int) -> tuple[int, Array]:
        """
        Return time and state as near to the present as the horizon allows.

        Parameters
        ----------
        stamp, x
            Time [ns] and state of the measurement.
        now
            The present [ns].

        """
        end = min(now, stamp + self._horizon)
        return (end, self.model(x, stamp, end)) if end > stamp else (stamp, x)

    def model(self, x: Array, stamp: int, end: int) -> Array:
        """Return the state at a later time [ns] of the model under the commands remembered."""
        acting, later = self._idle, []
        for since, u in reversed(self._commands):
            if since <= stamp:
                acting = u
                break
            if since < end:
                later.append((since, u))
        at = stamp
        for sent, u in reversed(later):
            since = max(sent, at)  # one that acts before the one sent earlier replaces it
            x = self._between(x, acting, at, since)
            at, acting = since, u
        return self._between(x, acting, at, end)

    def _between(self, x: Array, u: Array, begin: int, end: int) -> Array:
        return self._step(x, u, (end - begin) * 1e-9, (begin - self.origin) * 1e-9)


PERIOD = 10_000_000  # ns between two states that are judged
LONGEST = 100_000_000  # ns, beyond which the motion begins again
# standard deviations of measured numbers by their units, of the emulated arm and camera; and what
# the model adds to them in a period
NOISE: Mapping[str, float] = {'m': 3e-4, 'rad': 2e-3, 'm/s': 6e-3, 'rad/s': 0.05}
DRIFT: Mapping[str, float] = {'m': 1e-4, 'rad': 1e-3, 'm/s': 5e-3, 'rad/s': 0.05}
OTHER = 0.01  # of numbers in other units
CHANGE = 0.3  # of a predicted change, standard deviation: masses, gains and delays are not exact
LIMITED = 0.5  # of the greatest control, while the estimate is open
SETTLED = 0.2  # s after a contact was made, in which only the hand is judged
HAND = 'WH'  # in the names of what the control moves whatever the object does
LEAST = 0.3  # m, of a bound that a plan gives
LEAK = 1.0  # s, after which a commanded deviation from the plan is forgotten


class MotionWatch:
    """
    The supervisor of one machine, with the states that it was given.

    Attributes
    ----------
    source
        What the source of the states declares.

    """

    def __init__(
        self,
        system: RollingSystem,
        predictor: Predictor,
        *,
        limits: ArrayLike | None = None,
        noisy: bool = False,
    ) -> None:
        """
        Compile the difference of states.

        Parameters
        ----------
        system, predictor
            The model, and what knows its commands.
        limits
            Greatest magnitude of each control; None for no limit.
        noisy
            Whether states come with noise, so that a repeated one is no measurement.

        """
        size = system.control.size
        self._most = np.full(size, np.inf) if limits is None else np.array(limits, dtype=float)
        self._predictor = predictor
        x, y = ca.SX.sym('x', system.state.size), ca.SX.sym('y', system.state.size)
        difference = ca.Function('state_difference', [x, y], [system.difference(x, y)])
        self._difference = FastFunction(compiled(difference)[0])
        entries = system.tangent.entries
        units = [entry.unit for entry in entries for _ in range(entry.size)]
        self._R, self._Q = (
            np.array([table.get(unit.replace('chart', 'm'), OTHER) for unit in units]) ** 2
            for table in (NOISE, DRIFT)
        )
        hand = np.array([HAND in entry.name for entry in entries for _ in range(entry.size)])
        self._hand = np.flatnonzero(hand) if hand.any() else np.arange(len(units))
        # the noise of the numbers of a state is not theirs alone: only whole states are compared
        self.source = Source(name='the measured state', noise=float(noisy))
        self.begin()

    def begin(self) -> None:
        """Begin with the next state."""
        self._memory, self._verdict = Memory(), Verdict()
        self._last: tuple[int, Array] | None = None
        self._open(None)

    def _open(self, contact_since: int | None) -> None:
        self._noise, self._P = np.zeros(self._R.size), self._R
        self._since = contact_since

    def judge(self, stamp: int, x: Array, *, touching: bool = True) -> Verdict:
        """
        Return what the supervisor says of a state.

        Parameters
        ----------
        stamp, x
            Time [ns] and state of the measurement.
        touching
            Whether the object touches; in flight only the hand is judged.

        """
        if not touching:
            self._since = stamp
        if self._last is None or stamp - self._last[0] > LONGEST:
            self._last = stamp, x.copy()
            self._open(stamp)
            return self._verdict
        before, was = self._last
        if stamp - before < PERIOD:
            return self._verdict
        self._last = stamp, x.copy()
        expected = self._predictor.model(was, before, stamp)
        change, r = self._apart(expected, was), self._apart(x, expected)
        S = self._P + self._R + self._Q + (CHANGE * change) ** 2
        known = np.arange(r.size) if self._settled(stamp) else self._hand
        r = r + self._noise
        sample = Sample(r[known], S[known], x)
        self._memory, self._verdict = step(self.source, self._memory, sample, stamp * 1e-9)
        if self._verdict.reopen:
            self._open(self._since)
        else:  # what of the innovation is noise of this state, and comes back with the next one
            self._noise, self._P = self._R / S * r, self._R - self._R**2 / S
        return self._verdict

    def _apart(self, x: Array, y: Array) -> Array:
        return np.array(self._difference(x, y))

    def _settled(self, stamp: int) -> bool:
        return self._since is None or stamp - self._since > SETTLED * 1e9

    def limited(self, u: Array) -> Array:
        """Return a control, limited while the estimate is open, in the units of the control."""
        if not self._verdict.limited:
            return u
        return np.asarray(np.clip(u, -LIMITED * self._most, LIMITED * self._most))


class Unwatched:
    """No prediction, and no supervisor but that of the law itself; attributes of both."""

    delay = origin = 0

    def forget(self) -> None:
        """Do nothing."""

    begin = forget

    def note(self, stamp: int, u: Array) -> None:
        """Do nothing."""

    def predict(self, stamp: int, x: Array, now: int) -> tuple[int, Array]:  # noqa: ARG002
        """Return time and state as they are."""
        return stamp, x

    def judge(self, stamp: int, x: Array, *, touching: bool = True) -> Verdict:  # noqa: ARG002
        """Return that there is nothing to say."""
        return Verdict()

    def limited(self, u: Array) -> Array:
        """Return the control."""
        return u


class HandBound:
    """
    Bound on the deviation of a hand from its plan, as measured and as commanded.

    Commands are integrated, so that states which are not true cannot drive the hand away.
    """

    def __init__(self, layout: Layout, bound: float, states: Array) -> None:
        """Take a bound (m, rad), zero for that of the planned states: how far the hand moves."""
        self._pose = layout.slice('p_WH')
        self._rate = np.r_[layout.slice('w_WH_H'), layout.slice('v_WH_H')]
        way = states[:, self._pose] - states[0, self._pose]
        self.bound = bound or LEAST + float(np.linalg.norm(way, axis=1).max())
        self._rates: Array | None = None
        self._apart, self._time = np.zeros(len(self._rate)), 0.0

    def problem(self, t: float, x: Array, planned: Array, u: Array) -> str:
        """
        Return why the hand is to stop, or the empty string.

        Parameters
        ----------
        t
            Time [s].
        x, planned
            Measured and planned state.
        u
            The control, in the order of the hand's velocities.

        """
        h, self._time = t - self._time, t
        if self._rates is None:
            self._rates, h = x[self._rate], 0.0
        forget = min(h / LEAK, 1.0)
        self._rates = self._rates + h * u + forget * (x[self._rate] - self._rates)
        self._apart = (1 - forget) * self._apart + h * (self._rates - planned[self._rate])
        measured = float(np.linalg.norm(x[self._pose] - planned[self._pose]))
        commanded = float(np.linalg.norm(self._apart))
        if max(measured, commanded) <= self.bound:
            return ''
        kind, value = ('measured', measured) if measured > commanded else ('commanded', commanded)
        return (
            f'the hand is {value:.3g} m or rad from the plan as {kind}; '
            f'tracking_bound allows {self.bound:.3g}'
        )


def supervision(
    system: RollingSystem, params: ArrayLike, limits: Array | None, value: Callable[[str], Any]
) -> tuple[Predictor, MotionWatch]:
    """Return prediction and supervisor of a machine, by the parameters of its controller."""
    delay, horizon = value('command_delay'), value('prediction_horizon')
    predictor = Predictor(system, params, delay=delay, horizon=horizon)
    return predictor, MotionWatch(system, predictor, limits=limits, noisy=value('noisy_states'))
