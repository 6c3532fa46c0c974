"""Supervision of a loop: comparison of predicted and measured motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.measured_state import LIMITED, SensorFilter
from rolling_controller.supervisor import Memory, OPENING, Sample, Source, step, Verdict
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Layout, RollingSystem
from rolling_dynamics.rotations import (
    conjugate,
    exponential,
    logarithm,
    product,
    rotation_matrix,
)
from rolling_dynamics.simulation import Stepper

KEPT = 2000  # commands that are remembered
LONGEST_STEP = 5e-3  # of the integration [s]
Step: TypeAlias = Callable[[Array, Array, float, float], Array]  # of x, u, duration and time


class Predictor:
    """
    Integrates the model from the time of a measurement to the present.

    A command acts from its time until the next one does. Compensating the age of
    the state this way keeps the margin of delay that a regulator of unstable motion lacks.

    Attributes
    ----------
    params
        Parameters of the model.
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
        self._system, self.params = system, params
        self._step = self.step_with(params)
        self.delay, self._horizon = round(delay * 1e9), round(horizon * 1e9)
        self.origin = 0
        self._idle = np.zeros(system.control.size)
        self._commands: deque[tuple[int, Array]] = deque(maxlen=KEPT)

    def step_with(self, params: ArrayLike) -> Step:
        """Return the step of the model with other parameters."""
        return Stepper(self._system, params, max_step=LONGEST_STEP).step

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

    def model(self, x: Array, stamp: int, end: int, step: Step | None = None) -> Array:
        """Return the state at a later time [ns], by ``step`` of another model where given."""
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
            x = self._between(x, acting, at, since, step)
            at, acting = since, u
        return self._between(x, acting, at, end, step)

    def _between(self, x: Array, u: Array, begin: int, end: int, step: Step | None) -> Array:
        given = x, u, (end - begin) * 1e-9, (begin - self.origin) * 1e-9
        return (step or self._step)(*given)


PERIOD = 0.01  # s between two states that are checked
LONGEST = 100_000_000  # ns, beyond which the motion starts again
# standard deviations of measured numbers by their units where their source declares none, and the
# maximum of a declared one that is noise; and the model's addition to them in a period
NOISE: Mapping[str, float] = {'m': 3e-4, 'rad': 2e-3, 'm/s': 6e-3, 'rad/s': 0.05}
DRIFT: Mapping[str, float] = {'m': 1e-4, 'rad': 1e-3, 'm/s': 5e-3, 'rad/s': 0.05}
OTHER = 0.01  # of numbers in other units
# units along the diagonals of the covariances of odometry: of numbers, and of their rates
DECLARED = 'm', 'rad', 'm/s', 'rad/s'
USUAL = np.array([*[NOISE[unit] for unit in DECLARED] * 2, OTHER]) ** 2  # of hand, object, others
UNKNOWN = 1e4  # maximum of such variances: infinite ones would hide every fault
CHANGE = 0.3  # of a predicted change, standard deviation: gains and delays are not exact
SETTLED = 0.2  # s after a contact was made, in which only the hand is checked
HAND = 'WH'  # in the names of entries that the control moves whatever the object does
BEYOND = 0.02  # of the width of a hand, by which the contact may be measured beyond its edge
LEAST = 0.3  # m or rad, of a bound that a plan gives
PAUSE = 0.1  # s between two states, after which a command need not have been in force
UNLIMITED = 1e9  # m/s^2 and rad/s^2, where a control has no limit
# correction of the commanded hand by measurements: m/s and rad/s, m/s^2 and rad/s^2
CORRECTED = 0.01, 0.05


class MotionWatch:
    """
    The supervisor of one machine, with the states so far.

    Attributes
    ----------
    source
        Declaration of the source of the states.

    """

    def __init__(
        self,
        system: RollingSystem,
        predictor: Predictor,
        *,
        limits: ArrayLike | None = None,
        noisy: bool = False,
        period: float = 0.0,
        corrections: Array | None = None,
        errors: Array | None = None,
    ) -> None:
        """
        Compile the difference of states.

        Parameters
        ----------
        system, predictor
            The model, and the predictor with its commands.
        limits
            Maximum magnitude of each control; None for no limit.
        noisy
            Whether states come with noise, so that a repeated one is not a measurement.
        period
            Time between two states [s]; not checked where 0.
        corrections
            Variance of each tangent number by which sensors correct a state in :data:`PERIOD`;
            None where the sensors of a state are unknown, and it has the usual noise.
        errors
            Standard deviations of the parameters of the model; None for exact ones.

        """
        self._most = np.array(np.inf if limits is None else limits, dtype=float)
        self._predictor = predictor
        params = np.asarray(predictor.params, dtype=float)
        wrong = np.diag(np.zeros(params.size) if errors is None else errors)
        self._others = [predictor.step_with(params + off) for off in wrong if off.any()]
        self._difference = FastFunction(compiled(system.difference)[0])
        entries = system.tangent.entries
        units = [entry.unit.replace('chart', 'm') for entry in entries for _ in range(entry.size)]
        self._Q = np.array([DRIFT.get(unit, OTHER) for unit in units]) ** 2
        self._corrections = np.zeros(len(units)) if corrections is None else corrections
        # the correction by sensors contains all of the noise, where it is known
        self._usual = USUAL if corrections is None else 0.0 * USUAL
        hand = np.array([HAND in entry.name for entry in entries for _ in range(entry.size)])
        kind = np.array([(*DECLARED, unit).index(unit) for unit in units])
        self._column, self._rate = (
            np.where(of < len(DECLARED), of + len(DECLARED) * ~hand, -1) for of in (kind, kind + 2)
        )
        self._hand = np.flatnonzero(hand) if hand.any() else np.arange(len(units))
        self._place, low, high = _edges(system, params)
        # the noise of the numbers of a state is not theirs alone: only whole states are compared
        self.source = Source(
            name='the measured state', noise=float(noisy), opening=OPENING, low=low, high=high
        )
        self._arrival = Source(name=self.source.name, period=period or None)
        self.begin()

    def begin(self) -> None:
        """Start with the next state."""
        self._memory, self._arrivals, self._verdict = Memory(), Memory(), Verdict()
        self._last: tuple[int, Array, Array] | None = None
        self._since: int | None = None

    def _open(self, R: Array) -> None:
        self._noise, self._P = np.zeros(R.size), R

    def judge(
        self,
        stamp: int,
        x: Array,
        *,
        touching: bool = True,
        covariances: Array | None = None,
    ) -> Verdict:
        """
        Return the verdict of the supervisor on a state.

        A source may declare covariances of hand and object, as encoders and a camera do. A
        restarted estimator knows the object less well than usual: its state may then differ more
        from the predicted one.

        Parameters
        ----------
        stamp, x
            Time [ns] and state of the measurement.
        touching
            Whether the object is in contact; in flight only the hand is checked.
        covariances
            Covariances of pose and twist of hand and object, shape (2, 2, 6, 6), in the order of
            ``Odometry``; None or zeros where they are not declared.

        """
        if not touching:
            self._since = stamp
        if self._arrival.period is not None:
            arrived = Sample(np.zeros(0), np.zeros(0), x)
            self._arrivals, verdict = step(self._arrival, self._arrivals, arrived, stamp * 1e-9)
            if verdict.fault:
                return verdict
        if self._last is not None and stamp - self._last[0] < PERIOD * 1e9:
            return self._verdict
        declared = _declared(covariances)
        noise = np.where(declared > 0.0, np.minimum(declared, self._usual), self._usual)
        last, excess, R = self._last, np.maximum(declared - self._usual, 0.0), noise[self._column]
        self._last = stamp, x.copy(), excess
        if last is None or stamp - last[0] > LONGEST:
            self._since = stamp
            self._open(R)
            return self._verdict
        before, was, h = last[0], last[1], (stamp - last[0]) * 1e-9
        expected = self._predictor.model(was, before, stamp)
        change, r = self._apart(expected, was), self._apart(x, expected)
        S = self._P + R + self._Q + (CHANGE * change) ** 2
        S = S + self._corrections * max(h / PERIOD, 1.0)
        # errors of an estimate last, and are not averaged out as noise is
        S = S + (last[2] + excess)[self._column] + h**2 * last[2][self._rate]
        for step_of in self._others:
            S = S + self._apart(self._predictor.model(was, before, stamp, step_of), expected) ** 2
        known = np.arange(r.size) if self._settled(stamp) else self._hand
        r = r + self._noise
        place = x[self._place] if self._settled(stamp) else self.source.low
        sample = Sample(r[known], S[known], x, place)
        self._memory, self._verdict = step(self.source, self._memory, sample, stamp * 1e-9)
        if self._verdict.reopen:
            self._open(R)
        else:  # what of the innovation is noise of this state, and comes back with the next one
            self._noise, self._P = R / S * r, R - R**2 / S
        return self._verdict

    def _apart(self, x: Array, y: Array) -> Array:
        return np.array(self._difference(x, y))

    def _settled(self, stamp: int) -> bool:
        return self._since is None or stamp - self._since > SETTLED * 1e9

    def limited(self, u: Array) -> Array:
        """Return a control, limited while the estimate is open; zero in an impossible state."""
        if not self._verdict.possible:
            return np.zeros_like(u)
        if not self._verdict.limited:
            return u
        return np.asarray(np.clip(u, -LIMITED * self._most, LIMITED * self._most))


def _edges(system: RollingSystem, params: Array) -> tuple[list[int], Array, Array]:
    """Return the entries of the contact on a hand with edges, their minimum and maximum."""
    names, given = system.state.names, dict(zip(system.parameters.names, params, strict=True))
    axes = [k for k in 'uv' if f'{k}_h' in names and f'{k}_min' in given]
    low, high = (np.array([given[f'{k}_{end}'] for k in axes]) for end in ('min', 'max'))
    slack = BEYOND * (high - low)
    return [names.index(f'{k}_h') for k in axes], low - slack, high + slack


def _declared(covariances: Array | None) -> Array:
    """Return the variances that are declared, as :data:`USUAL` has them; zero where none are."""
    if covariances is None:
        return np.zeros(USUAL.size)
    found = np.diagonal(covariances, axis1=2, axis2=3).reshape(2, len(DECLARED), 3).max(2)
    hand, object_ = np.clip(np.nan_to_num(found, posinf=UNKNOWN), 0.0, UNKNOWN)
    # the object is known by where it is on the hand
    return np.array([*hand, *np.where(object_ > 0.0, object_ + hand, 0.0), 0.0])


class Unwatched:
    """No prediction, and no supervisor but the law's own; attributes of both."""

    delay = origin = 0

    def forget(self) -> None:
        """Do nothing."""

    begin = forget

    def note(self, stamp: int, u: Array) -> None:
        """Do nothing."""

    def predict(self, stamp: int, x: Array, now: int) -> tuple[int, Array]:  # noqa: ARG002
        """Return time and state as they are."""
        return stamp, x

    def judge(self, stamp: int, x: Array, **known: object) -> Verdict:  # noqa: ARG002
        """Return an empty verdict."""
        return Verdict()

    def limited(self, u: Array) -> Array:
        """Return the control."""
        return u


HAND_STATE = tuple(
    f'{entry}_{k}' for entry in ('q_WH', 'p_WH', 'w_WH_H', 'v_WH_H') for k in 'wxyz'
    if k != 'w' or entry == 'q_WH'
)  # fmt: skip
SIZES = [0, 4, 7, 10, 13]  # borders of its entries


@cache
def hand_motion() -> ca.Function:
    """
    Return ``(hand, measured, planned, u, h, brake) -> hand, its deviation, the measured one's``.

    The hand moves by accelerations u for a time h, exactly where these are constant. It is drawn
    towards the measured one by at most CORRECTED. ``brake`` is the time constant of the safe
    command, and the lowest limits of turning and of moving.
    """
    known = [ca.SX.sym(name, SIZES[-1]) for name in ('hand', 'measured', 'planned')]
    (q, p, w, v), (q_m, p_m, w_m, v_m), _ = (ca.vertsplit(x, SIZES) for x in known)
    u, h, brake = ca.SX.sym('u', 6), ca.SX.sym('h'), ca.SX.sym('brake', 3)
    alpha, a = ca.vertsplit(u, 3)
    middle = product(q, exponential(h / 2 * (w + h / 4 * alpha)))
    before = rotation_matrix(q) @ v
    after = before + h * rotation_matrix(middle) @ a
    q_next = product(q, exponential(h * (w + h / 2 * alpha)))
    rate, speed = h * CORRECTED[0], h * CORRECTED[1]
    w = _toward(w + h * alpha, w_m, speed)
    v = _toward(rotation_matrix(q_next).T @ after, v_m, speed)
    apart = logarithm(product(conjugate(q_next), q_m))
    q = product(q_next, exponential(_toward(ca.SX.zeros(3), apart, rate)))
    p = _toward(p + h / 2 * (before + after), p_m, rate)
    moved = ca.vertcat(q, p, w, v)
    deviations = [_deviation(x, known[2], brake) for x in (moved, known[1])]
    out = ca.vertcat(moved, *deviations)
    return compiled(ca.Function('hand_motion', [*known, u, h, brake], [out]))[0]


def _toward(x: ca.SX, goal: ca.SX, most: ca.SX) -> ca.SX:
    """Return x moved towards a goal by so much at most."""
    way = goal - x
    return x + way * ca.fmin(1, most / (ca.norm_2(way) + 1e-12))


def _deviation(x: ca.SX, planned: ca.SX, brake: ca.SX) -> ca.SX:
    """Return the maximum distance [m] and angle [rad] between two hands until one has braked."""
    (q, p, w, v), (q_p, p_p, w_p, v_p) = (ca.vertsplit(y, SIZES) for y in (x, planned))
    R, R_p = rotation_matrix(q), rotation_matrix(q_p)
    turned, apart = logarithm(product(conjugate(q_p), q)), p - p_p
    turns = turned + _stopping(w - R.T @ R_p @ w_p, brake[0], brake[1])
    moves = apart + _stopping(R @ v - R_p @ v_p, brake[0], brake[2])
    return ca.mmax(ca.vertcat(*(ca.norm_2(y) for y in (turned, apart, turns, moves))))


def _stopping(v: ca.SX, time: ca.SX, most: ca.SX) -> ca.SX:
    """Return how far a velocity goes that decays in a time constant, at a rate within limits."""
    speed = ca.norm_2(v)
    last = ca.fmin(speed, most * time)  # from here on it decays
    return ((speed**2 - last**2) / (2 * most) + last * time) / (speed + 1e-12) * v


class HandBound:
    """
    Bound on the deviation of a hand from its plan, as measured and as commanded.

    The braking distance of the hand counts, from its velocity relative to the plan. The hand is
    also predicted from its start by the commands. Measurements correct this prediction, but so
    slowly (:data:`CORRECTED`) that no data can drive the hand away unnoticed.
    """

    def __init__(
        self,
        layout: Layout,
        bound: float,
        states: Array,
        brake_time: float = 0.0,
        limits: ArrayLike = UNLIMITED,
    ) -> None:
        """
        Take the planned states and the braking of the hand.

        Parameters
        ----------
        layout, states
            Planned states, shape (N, n), and their layout.
        bound
            The bound (m, rad); zero: the extent of the planned states, and :data:`LEAST`.
        brake_time, limits
            Time constant of the safe command [s], and the maximum magnitude of each control.

        """
        names = layout.names
        there = [(k, names.index(name)) for k, name in enumerate(HAND_STATE) if name in names]
        self._whole, self._given = (np.array(k) for k in zip(*there, strict=True))
        self._controls = self._whole[self._whole >= SIZES[2]] - SIZES[2]
        self._motion = FastFunction(hand_motion())
        begin, still = self._hand(states[0]), np.zeros(6)
        at_once = np.array([0.0, UNLIMITED, UNLIMITED])
        ways = (self._motion(begin, self._hand(x), begin, still, 0.0, at_once) for x in states)
        self.bound = bound or LEAST + max(float(out[-1]) for out in ways)
        most = np.full(6, UNLIMITED)
        most[self._controls] = np.minimum(limits, UNLIMITED)
        self._brake = np.r_[brake_time, most[:3].min(), most[3:].min()]
        self._hand_now: Array | None = None
        self._time, self._since, self._u = 0.0, 0.0, np.zeros(6)

    def _hand(self, x: Array) -> Array:
        """Return the state of the hand with the numbers that a layout leaves out."""
        hand = np.zeros(SIZES[-1])
        hand[self._whole] = x[self._given]
        return hand

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
            The control from now on, in the order of the hand's velocities.

        """
        measured = self._hand(x)
        now = measured if self._hand_now is None else self._hand_now
        self._since, self._time = t - self._time if self._hand_now is not None else 0.0, t
        out = self._motion(now, measured, self._hand(planned), self._u, self._since, self._brake)
        self._hand_now, (by_command, by_measurement) = out[:-2].copy(), out[-2:].tolist()
        self._u[self._controls] = u
        if max(by_measurement, by_command) <= self.bound:
            return ''
        value, kind = max((by_measurement, 'measured'), (by_command, 'commanded'))
        return (
            f'the hand is {value:.3g} m or rad from the plan as {kind}, braking included; '
            f'tracking_bound allows {self.bound:.3g}'
        )

    def followed(self, x: Array) -> Array:
        """
        Return a state x with the hand as its commands have moved it.

        It is x where that is not known: before the first step, and after a pause, in which a plant
        may have ended a command by itself.
        """
        out = x.copy()
        if self._hand_now is not None and self._since <= PAUSE:
            out[self._given] = self._hand_now[self._whole]
        return out


def supervision(
    system: RollingSystem,
    params: ArrayLike,
    limits: Array | None,
    value: Callable[[str], Any],
    start: ArrayLike = (),
    sensors: Sequence[Sensor] = (),
    errors: Array | None = None,
) -> tuple[Predictor, MotionWatch]:
    """
    Return predictor and supervisor of a machine, by the parameters of its controller.

    Where its sensors and the errors of its parameters are known, they give the tolerance between a
    state and its prediction.
    """
    if 'p_WH' in system.state:
        hand_motion()  # compiled with the rest
    delay, horizon = value('command_delay'), value('prediction_horizon')
    predictor = Predictor(system, params, delay=delay, horizon=horizon)
    noisy, period = value('noisy_states'), value('state_period')
    known = None
    if sensors:
        known = SensorFilter(system, params, sensors, start, fast=False).corrections(PERIOD)
    declared = {'noisy': noisy, 'period': period, 'corrections': known, 'errors': errors}
    return predictor, MotionWatch(system, predictor, limits=limits, **declared)
