"""
State of any machine from its sensors: a Kalman filter on its equations and its sensors.

A step is one CasADi function. It predicts in equal parts under controls that are ramps. The ramp
of a part has the mean and the slope of the held controls that act in it: rates and positions at
its end are the same. A longer time without a measurement takes several steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import (
    as_function,
    Law,
    LawFunction,
    split,
    STATE,
    state_inputs,
    written,
)
from rolling_controller.supervisor import Memory, OPENING, Sample, Source, step, Verdict
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import offers, smooth_mode
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import (
    Entry,
    Layout,
    RollingSystem,
    Symbols,
    tangent_steps,
)
from rolling_dynamics.simulation.guards import in_mode, projection
from rolling_dynamics.simulation.sensing import Measurement
from rolling_dynamics.simulation.stepper import step_of_order_4

LONGEST = 5e-3  # s, of a step of the integration
SENT = 32  # controls that are remembered: the one in force, and those that are to act
STILL = 1e-9  # maximum slope of a measurement that no motion changes
DRIFT = 0.1  # 1/sqrt(s), standard deviation by which unknown forces change an entry over its scale
# a gap, in periods of the slowest sensor and at least in s: then it is as unsure as at the start
GAP, SHORTEST = 10, 0.1
START, LOST = 0.01, 1.0  # standard deviations of the start, and of an estimate that is reopened
ROUNDING = 1e-6  # of a period
EXACT = 1e-6  # of its scale, standard deviation of a number that is measured without noise
DEPENDS = 1e-10  # of its variance without correlations, of what contacts keep at zero already
LIMITED = 0.5  # of the maximum output of a law, while an estimate is open
MISSING = 1e300  # a measurement that is as large is none
Spread = float | Mapping[str, float]  # over the scale of each entry, or by entry in its unit


class Belief(NamedTuple):
    """
    Estimate of the state.

    Attributes
    ----------
    x, force
        State, and the unknown rates of change of the entries in ``forces``, one after another.
    P
        Their covariance, in tangent units.
    sent
        The last controls, a row each: the time from which it acts [s], and the control. The first
        acts until the second does.
    t
        Time of the estimate [s]; minus infinity before the first measurement.
    memories
        Memory of the supervisor by sensor.
    verdict
        Verdict of the supervisor on the newest measurements.

    """

    x: Array
    force: Array
    P: Array
    sent: Array
    t: float = -math.inf
    memories: Mapping[str, Memory] = {}
    verdict: Verdict = Verdict()

    def numbers(self) -> Array:
        """Return the memory of the filter, shape (k,) in the units above, without verdicts."""
        return np.concatenate([[self.t], self.x, self.force, self.P.ravel(), self.sent.ravel()])

    def after(self, numbers: Array) -> Belief:
        """Return the belief with other numbers, shape (k,) in the units of :meth:`numbers`."""
        sizes = np.cumsum([1, self.x.size, self.force.size, self.P.size])
        t, x, force, P, sent = np.split(numbers, sizes)
        P, sent = P.reshape(self.P.shape), sent.reshape(self.sent.shape)
        return Belief(x, force, P, sent, float(t[0]), self.memories, self.verdict)


class _Closed(Protocol):
    closing_rows: ca.Function | None


class SensorFilter:
    """
    Kalman filter of the sensors of a machine, in the first mode of its system.

    It is an estimator in the form of a law; see :class:`rolling_controller.law.Law`. A number that
    is measured without noise has the standard deviation :data:`EXACT` of its scale. One that no
    motion changes, such as the height of a ball over its plate, is ignored. Contacts that close
    loops of a machine are assumed to be closed, and not to slip.

    Attributes
    ----------
    inputs
        Layout of the measurements of all sensors; missing ones are NaN.
    output, control
        Layouts of the state, and of the control that is sent.
    sensors
        The sensors by name.
    longest
        Maximum time that a step predicts [s].
    then_sent
        ``(sent, u, at) -> sent``, the memory after a control was sent.

    """

    period = None
    opaque = ''

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        sensors: Sequence[Sensor],
        x_start: ArrayLike,
        *,
        start: Spread = START,
        lost: Spread = LOST,
        drift: Spread = DRIFT,
        forces: Mapping[str, tuple[float, float]] | None = None,
        sources: Mapping[str, Source] | None = None,
        fast: bool = True,
    ) -> None:
        """
        Compile a step.

        Parameters
        ----------
        system, p
            The machine.
        sensors
            Its sensors.
        x_start
            State from which it starts, shape (state.size,).
        start, lost
            Standard deviation of each tangent entry at the start, and where the supervisor reopens
            the estimate. An entry without one is not estimated.
        drift
            Standard deviation by which unknown forces change each tangent entry in a second
            [1/sqrt(s)].
        forces
            Tangent entries whose rate of change has an unknown part that is constant, but for a
            random walk: standard deviation at the start, and strength of the walk [1/sqrt(s)].
        sources
            Declarations of sensors to the supervisor, by name; others are not supervised. It works
            next to the function, which takes every measurement.
        fast
            Whether the step is compiled, which does not pay for a few hundred steps.

        """
        self._p, x = np.asarray(p, dtype=float), np.array(x_start, dtype=float)
        self.sensors: Mapping[str, Sensor] = {s.name: s for s in sensors}
        self._sources = dict(sources or {})
        self._gap = max(GAP / min(s.rate for s in sensors), SHORTEST)
        self._parts = math.ceil(1 / max(s.rate for s in sensors) / LONGEST * (1 - 1e-12))
        self.longest = self._parts * LONGEST
        self.inputs = Layout(
            tuple(
                Entry(s.name, tuple(f'{s.name}_{n}' for n in s.output.names), '') for s in sensors
            )
        )
        self.output, self.control = state_inputs(system), system.control
        says = [
            (np.diag(s.covariance) + s.bias**2 > 0.0) | _moved_by_the_state(s, system, self._p, x)
            for s in sensors
        ]
        self._says = np.concatenate(says)
        tangent, forces = system.tangent, dict(forces or {})
        rows = [k for name in forces for k in range(*tangent.slice(name).indices(tangent.size))]
        self._B = np.eye(tangent.size)[:, rows]
        sizes = [len(tangent.entry(name).components) for name in forces]
        unsure, walk = (
            np.repeat([pair[k] for pair in forces.values()], sizes) if forces else np.zeros(0)
            for k in range(2)
        )
        self._spread = np.concatenate([_spread(tangent, start), unsure])
        self._lost = np.concatenate([_spread(tangent, lost), np.zeros(unsure.size)])
        self._Q = np.diag(np.concatenate([_spread(tangent, drift), walk]) ** 2)
        sent = np.zeros((SENT, 1 + system.control.size))
        sent[:, 0] = -math.inf
        self._start = Belief(x, np.zeros(len(rows)), np.diag(self._spread**2), sent)
        self._whole = self._function(system)
        self.then_sent = _then_sent(system.control.size)
        steps = self._whole, self.then_sent
        steps = compiled(*steps) if fast else steps
        self._evaluated, self._sent = (FastFunction(f) for f in steps)

    def start(self, before: Belief | None = None) -> Belief:  # noqa: ARG002
        """Return the belief before the first measurement."""
        return self._start

    def acting(self, belief: Belief, u: ArrayLike, at: float) -> Belief:
        """Return the belief with a control, shape (control.size,), that acts from a time [s]."""
        return belief._replace(sent=self._sent(belief.sent.ravel(), u, at).reshape(SENT, -1))

    def corrections(self, period: float) -> Array:
        """
        Return the variance by which measurements correct each tangent number in a period [s].

        Successive estimates differ from the prediction by this much, and never by more than the
        errors of both. It is the variance of a machine at its start, after a while of
        measurements, of shape (n,).
        """
        until = self._gap + max(period, 1.0 / min(s.rate for s in self.sensors.values()))
        before, after = self._measured_until(self._gap), self._measured_until(until)
        without, P = (np.diag(b.P) for b in (self._predicted(before, until), after))
        return np.clip(without - P, 0.0, 4.0 * P)[: len(self._B)]

    def _measured_until(self, end: float) -> Belief:
        """Return the belief at the start of the machine, from the belief at a time [s]."""
        belief, least, times = self.start(), min(s.delay for s in self.sensors.values()), []
        for k, s in enumerate(self.sensors.values()):
            count = math.floor((end + least - s.delay) * s.rate + ROUNDING)
            times += [(i / s.rate, k, s) for i in range(count + 1)]
        for t, _, sensor in sorted(times, key=lambda one: one[:2]):
            y = self.of(sensor.name, np.zeros(sensor.output.size))
            after, _ = self._taken(self._bridged(belief, t), y, t)
            belief = belief._replace(P=after.P, t=t)
        return self._predicted(belief, end)

    def _predicted(self, belief: Belief, t: float) -> Belief:
        """Return the belief at a later time without a measurement."""
        nothing = np.full(self.inputs.size, np.nan)
        return self._taken(self._bridged(belief, t), nothing, t)[0]

    def later(self, belief: Belief, t: float) -> Array:
        """Return the state that is expected at a later time [s], shape (state.size,)."""
        return self._predicted(belief, t).x

    def given(self, measurement: Measurement) -> Array:
        """Return inputs for a measurement of an emulation: shape (inputs.size,), units of y."""
        return self.of(measurement.sensor.name, measurement.value)

    def of(self, name: str, value: ArrayLike) -> Array:
        """Return inputs for a measurement of a sensor: shape (output.size,), in its units."""
        out = np.full(self.inputs.size, np.nan)
        out[self.inputs.slice(name)] = value
        return out

    def step(self, memory: Belief, inputs: ArrayLike, t: float) -> tuple[Belief, Array]:
        """
        Return the belief after measurements at a time, and the estimate of the state.

        Parameters
        ----------
        memory
            The belief before, with the controls that were sent since.
        inputs
            Measurements, see ``inputs``.
        t
            Stamp of the measurements [s].

        """
        belief, y, verdicts = self._bridged(memory, t), np.asarray(inputs, dtype=float), []
        rest = y.copy()
        for name in self._sources:
            part = self.inputs.slice(name)
            if np.isfinite(y[part]).any() or len(self.sensors) == 1:
                belief, verdict = self._judged(belief, name, self.of(name, y[part]), t)
                verdicts.append(verdict)
            rest[part] = np.nan
        if np.isfinite(rest).any() or t > belief.t:
            belief, _ = self._taken(belief, rest, t)
        fault = next((v.fault for v in verdicts if v.fault), '')
        limited, possible = any(v.limited for v in verdicts), all(v.possible for v in verdicts)
        belief = belief._replace(verdict=Verdict(fault, limited=limited, possible=possible))
        return belief, belief.x.copy()

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors, which takes every measurement."""

        def known(z: ca.SX, y: ca.SX, t: ca.SX, p: ca.SX) -> tuple[ca.SX, ca.SX]:
            z, rest = split(self._whole(z, y, t, p, 0), z.numel())
            return z, rest[: self.output.size]

        return written(self, known, self._p, self._start.numbers())

    def _bridged(self, belief: Belief, t: float) -> Belief:
        """Return the belief at a time from which one step reaches the time of a measurement."""
        since, longest = t - belief.t, self.longest
        if since > self._gap:
            kept = {name: m.resumed(since) for name, m in belief.memories.items()}
            return belief._replace(memories=kept)
        nothing, steps = np.full(self.inputs.size, np.nan), math.ceil(since / longest - 1e-9)
        for k in range(1, steps):
            belief, _ = self._taken(belief, nothing, t - since * (1 - k / steps))
        return belief

    def _taken(
        self, belief: Belief, y: Array, t: float, *, reopen: bool = False
    ) -> tuple[Belief, Array]:
        """Return the belief after measurements, and innovations of unit covariance."""
        self._evaluated.renew()
        numbers = belief.numbers()
        out = self._evaluated(numbers, y, t, self._p, reopen)
        return belief.after(out[: numbers.size]), out[numbers.size + self.output.size :]

    def _judged(self, belief: Belief, name: str, y: Array, t: float) -> tuple[Belief, Verdict]:
        """Return the belief after one measurement, and the verdict of the supervisor."""
        corrected, r = self._taken(belief, y, t)
        part = self.inputs.slice(name)
        used, content = (self._says & np.isfinite(y))[part], y[part][self._says[part]]
        sample = Sample(r[part][used], np.ones(used.sum()), content, content)
        memory = belief.memories.get(name, Memory())
        memory, verdict = step(self._sources[name], memory, sample, t)
        if not verdict.possible:
            corrected, _ = self._taken(belief, np.full_like(y, np.nan), t)
        elif verdict.reopen:
            corrected, _ = self._taken(belief, y, t, reopen=True)
        return corrected._replace(memories={**belief.memories, name: memory}), verdict

    def _function(self, system: RollingSystem) -> ca.Function:
        """
        Return ``(z, y, t, p, reopen) -> z, x, innovations``, a step.

        z are the numbers of :class:`Belief`. Where ``reopen`` is 1, the estimate is as unsure as
        one that is lost before it is corrected; forces stay.
        """
        start, m = self._start, system.control.size
        sizes = [1, start.x.size, start.force.size, start.P.size, start.sent.size]
        z, y = ca.MX.sym('z', sum(sizes)), ca.MX.sym('y', self.inputs.size)
        t, p = ca.MX.sym('t'), ca.MX.sym('p', self._p.size)
        reopen = ca.MX.sym('reopen')
        was, x, force, P, numbers = ca.vertsplit(z, np.cumsum([0, *sizes]).tolist())
        P, sent = ca.reshape(P, *start.P.shape), ca.reshape(numbers, 1 + m, SENT)
        lost, later = t - was > self._gap, t > was
        P = ca.if_else(lost, np.diag(self._spread**2), P)
        h = ca.if_else(lost, 0, ca.fmax(t - was, 0)) / self._parts
        ramp, part = _ramp(m), self._part(system)
        for k in range(self._parts):
            at = t - (self._parts - k) * h
            x, P = part(x, force, P, *ramp(sent, at, h), at, h, p)
        closing = self._closing(system)
        P = ca.if_else(later, closing(x, P, p), P)
        which = self._lost > 0.0
        kept = np.where(np.logical_or.outer(which, which), 0.0, 1.0)
        reopened = closing(x, kept * P + np.diag(self._lost**2), p)
        P = ca.if_else(reopen, reopened, P)
        u, innovations = _in_force(m)(sent, t), []
        for sensor in self.sensors.values():
            where = self.inputs.slice(sensor.name)
            used = self._says[where] * (ca.fabs(y[where]) < MISSING)
            measured = ca.if_else(used, y[where], 0)
            correct = _correction(sensor, system, start.force.size)
            out = correct(x, force, P, measured, used, u, t, p)
            ends = np.cumsum([0, *sizes[1:4], sensor.output.size]).tolist()
            x, force, P, r = ca.vertsplit(out, ends)
            P = ca.reshape(P, *start.P.shape)
            innovations.append(r)
        now = ca.vertcat(ca.fmax(t, was), x, force, ca.vec(P), numbers)
        out = ca.densify(ca.vertcat(now, x, *innovations))
        return ca.Function('sensor_filter', [z, y, t, p, reopen], [out])

    def _part(self, system: RollingSystem) -> ca.Function:
        """Return ``(x, force, P, u0, u1, t, h, p) -> x, P``, a prediction under a ramp."""
        n, N = self._B.shape[0], len(self._spread)
        x, force = ca.MX.sym('x', system.state.size), ca.MX.sym('force', N - n)
        P, t, h = ca.MX.sym('P', N, N), ca.MX.sym('t'), ca.MX.sym('h')
        u0, u1 = (ca.MX.sym(s, system.control.size) for s in ('u0', 'u1'))
        p, u = ca.MX.sym('p', self._p.size), (u0, (u0 + u1) / 2, u1)
        kick = self._B @ force * (h / 2)
        start, f = system.retract(x, kick), smooth_mode(system).dynamics
        stages, after = step_of_order_4(lambda at, k: f(at, u[k], t + k * h / 2, p), start, h)
        slopes, away, back = _derivatives(system)
        A = slopes(stages[0], u[1], t + h / 2, p)  # in the middle
        turned = away(start)
        turned += h * A @ (turned + h / 2 * A @ turned)
        J, mode = back(after) @ turned, in_mode(system, next(iter(system.modes)))
        after = projection(mode)(after, p)
        beside = h / 2 * (J @ self._B + self._B)
        F = ca.vertcat(ca.horzcat(J, beside), ca.horzcat(ca.MX(N - n, n), ca.MX.eye(N - n)))
        P_after, end = F @ P @ F.T + h * self._Q, system.retract(after, kick)
        out = [ca.if_else(h > 0, end, x), ca.densify(ca.if_else(h > 0, P_after, P))]
        return ca.Function('predicted', [x, force, P, u0, u1, t, h, p], out)

    def _closing(self, system: RollingSystem) -> ca.Function:
        """Return ``(x, P, p) -> P``: contacts that close loops are closed, and do not slip."""
        n, N = self._B.shape[0], len(self._spread)
        x, given = ca.MX.sym('x', system.state.size), ca.MX.sym('P', N, N)
        p, closed, P = ca.MX.sym('p', self._p.size), offers(system, _Closed), given
        if closed is not None and closed.closing_rows is not None:
            G = closed.closing_rows(x, p)
            for k in range(G.size1()):
                row = ca.horzcat(G[k, :], ca.MX(1, N - n)).T
                spread, apart = P @ row, ca.dot(row**2, ca.diag(P))
                variance = ca.dot(row, spread)
                says = variance > DEPENDS * apart
                P -= ca.if_else(says, spread @ spread.T / ca.if_else(says, variance, 1), 0)
        return ca.Function('closed', [x, given, p], [ca.densify(P)])


def _ramp(size: int) -> ca.Function:
    """
    Return ``(sent, t, h) -> u0, u1``: the ramp that acts from a time on for a time as those sent.

    Both have the same integral, and the same integral over it.
    """
    sent, t, h = ca.SX.sym('sent', 1 + size, SENT), ca.SX.sym('t'), ca.SX.sym('h')
    ends = ca.fmin(ca.fmax(sent[0, 1:], t), t + h) - t - h / 2
    begins, ends = ca.horzcat(-h / 2, ends), ca.horzcat(ends, h / 2)
    over = ca.if_else(h > 0, h, 1)
    mean = sent[1:, :] @ (ends - begins).T / over
    slope = sent[1:, :] @ (ends**2 - begins**2).T * 3 / over**2
    return ca.Function('ramp', [sent, t, h], [mean - slope, mean + slope])


def _in_force(size: int) -> ca.Function:
    """Return ``(sent, t) -> u``, the control that acts at a time."""
    sent, t = ca.SX.sym('sent', 1 + size, SENT), ca.SX.sym('t')
    u = sent[1:, 0]
    for k in range(1, SENT):
        u = ca.if_else(sent[0, k] <= t, sent[1:, k], u)
    return ca.Function('in_force', [sent, t], [u])


def _then_sent(size: int) -> ca.Function:
    """Return ``(sent, u, at) -> sent``: a control replaces those that were to act later."""
    sent, u, at = ca.SX.sym('sent', 1 + size, SENT), ca.SX.sym('u', size), ca.SX.sym('at')
    row = ca.vertcat(at, u)
    later = ca.horzcat(sent[:, 1:], row)
    moved = ca.if_else(sent[0, -1] < at, later, sent)
    out = [ca.if_else(moved[0, k] >= at, row, moved[:, k]) for k in range(SENT)]
    return ca.Function('sent', [ca.vec(sent), u, at], [ca.densify(ca.vertcat(*out))])


def _spread(tangent: Layout, given: Spread) -> Array:
    """Return a standard deviation of each tangent number; zero where none is given."""
    out = np.zeros(tangent.size)
    for e in tangent.entries:
        by_scale = given if isinstance(given, float) else given.get(e.name, 0.0) / e.scale
        out[tangent.slice(e.name)] = by_scale * e.scale
    return out


def _correction(sensor: Sensor, system: RollingSystem, forces: int) -> ca.Function:
    """
    Return ``(x, force, P, y, used, u, t, p) -> [x, force, P, r]``, the update by a measurement.

    P is row by row; ``used`` is 1 where y is measured, else 0; the innovations r have unit
    covariance. A quaternion is taken with the sign that is nearer to the expected one.
    """
    n, m, taken = system.tangent.size, sensor.output.size, _innovation(sensor, system, forces)
    x, u, t, p, y, used = taken.mx_in()
    force, P = ca.MX.sym('force', forces), ca.MX.sym('P', n + forces, n + forces)
    H, R, r = taken(x, u, t, p, y, used)
    HP, apart = H @ P, ca.diag(1 - used)  # an unused number is expected as measured
    G, K, r = _solved(m, n + forces)(HP @ H.T + R + apart, HP, r)
    rest, change = ca.densify(ca.MX.eye(n + forces) - K @ H), G.T @ r
    after = rest @ P @ rest.T + K @ R @ K.T
    out = ca.vertcat(system.retract(x, change[:n]), force + change[n:], ca.vec(after), r)
    args = [x, force, P, y, used, u, t, p]
    return ca.Function(f'correction_{sensor.name}', args, [ca.densify(out)])


def _solved(rows: int, size: int) -> ca.Function:
    """Return ``(S, H P, r) -> G, K, r``: K is the gain, G and r have unit covariance."""
    S, HP, r = (ca.SX.sym('s', rows, k) for k in (rows, size, 1))
    L = ca.chol(S).T
    G = ca.solve(L, HP)
    out = [ca.densify(v) for v in (G, ca.solve(L.T, G).T, ca.solve(L, r))]
    return ca.Function('solved', [S, HP, r], out)


def _innovation(sensor: Sensor, system: RollingSystem, forces: int) -> ca.Function:
    """Return ``(x, u, t, p, y, used) -> H, R, y - expected``; zero for unused numbers."""
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    d, m = ca.SX.sym('d', system.tangent.size), sensor.output.size
    y, used = ca.SX.sym('y', m), ca.SX.sym('used', m)
    function = sensor.function(system, next(iter(system.modes)))
    scales = np.array([e.scale for e in sensor.output.entries for _ in range(e.size)])
    unsure = np.diag(sensor.covariance) + sensor.bias**2 > 0.0
    exact = np.where(unsure, sensor.bias, EXACT * scales)
    H = ca.substitute(ca.jacobian(function(system.retract(x, d), u, t, p), d), d, 0)
    expected, near = ca.SX(function(x, u, t, p)), ca.SX(y)
    for entry in sensor.output.entries:
        where = sensor.output.slice(entry.name)
        if entry.kind == 'quaternion':
            near[where] *= ca.if_else(ca.dot(y[where], expected[where]) < 0, -1, 1)
    only = ca.diag(used)
    R = only @ ca.SX(sensor.covariance + np.diag(exact**2)) @ only
    out = [ca.horzcat(only @ H, ca.SX(m, forces)), R, used * (near - expected)]
    return ca.Function('innovation', [x, u, t, p, y, used], [ca.densify(v) for v in out])


def _moved_by_the_state(
    sensor: Sensor, system: RollingSystem, p: Array, x_start: Array
) -> NDArray[np.bool_]:
    """Return which numbers of a measurement change with the state, near the start or further."""
    d, n = ca.SX.sym('d', system.tangent.size), system.tangent.size
    function = sensor.function(system, next(iter(system.modes)))
    y = function(system.retract(x_start, d), np.zeros(system.control.size), 0.0, p)
    slope = ca.Function('slope', [d], [ca.densify(ca.jacobian(y, d))])
    sizes = (np.abs(np.array(slope(0.1 * k * np.ones(n)))).max(axis=1) for k in range(2))
    return np.asarray(np.maximum(*sizes) > STILL)


def _derivatives(system: RollingSystem) -> tuple[ca.Function, ca.Function, ca.Function]:
    """Return derivatives: ``(x, u, t, p)`` of rates, ``x`` of ``retract`` and ``difference``."""
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    rates, y = smooth_mode(system).dynamics(x, u, t, p), ca.SX.sym('y', x.numel())
    back = ca.substitute(ca.jacobian(system.difference(y, x), y), y, x)
    return (
        ca.Function('slopes', [x, u, t, p], [ca.cse(ca.jacobian(rates, x))]),
        ca.Function('away', [x], [tangent_steps(system, x)]),
        ca.Function('back', [x], [back]),
    )


def sensor_source(sensor: Sensor) -> Source:
    """Return the declaration of a sensor: a push reopens the estimate once."""
    noise = np.sqrt(np.diag(sensor.covariance))
    return Source(
        name=f'sensor {sensor.name}',
        period=1.0 / sensor.rate,
        noise=float(noise[noise > 0.0].min(initial=np.inf)) if noise.any() else 0.0,
        opening=OPENING,
    )


def latency(sensors: Iterable[Sensor], actuators: Iterable[Actuator]) -> float:
    """Return the maximum time from a measurement until the answer to it acts [s]."""
    dead_time = max((a.dead_time for a in actuators), default=0.0)
    return max(s.delay for s in sensors) + dead_time


class Measured(NamedTuple):
    """
    Memory of a law with a filter.

    Attributes
    ----------
    belief, law
        Memories of the filter and of the law.
    output
        The last output.
    missed
        Number of measurements missing before the newest.

    """

    belief: Belief
    law: Any
    output: Array
    missed: int = 0

    @property
    def fault(self) -> str:
        """Reason why measurements are no longer believed; empty while they are."""
        return self.belief.verdict.fault


class MeasuredLaw:
    """
    Law behind a filter of sensor measurements; see :class:`rolling_controller.law.Law`.

    It is opaque where the law is. A law of the input ``state`` takes the filter's state. Any other
    takes the measurement of the first sensor, as many numbers as its first input has, where the
    supervisor accepts it; with a period, it also steps for each missing measurement. After a fault
    of the supervisor the output is zero; while the estimate is open, the output is limited. As a
    function of vectors it has no supervisor, and no missing measurements.
    """

    def __init__(
        self,
        state: SensorFilter,
        law: Law[Any],
        *,
        control: Callable[[Any], Any] = lambda u: u,
        latency: float = 0.0,
        greatest: float = math.inf,
        ahead: bool = False,
    ) -> None:
        """
        Take a filter and a law.

        Parameters
        ----------
        state, law
            The filter and the law.
        control
            Function from the law's output to the machine's control, of numbers and of symbols.
        latency
            Time from a measurement until the control that answers it acts [s].
        greatest
            Maximum magnitude of an output.
        ahead
            Whether a law of the state gets the state predicted for the time when its answer acts,
            under the controls that act until then, and this time.

        """
        self.law, self.period, self.output = law, law.period, law.output
        self.opaque = law.opaque
        first, *rest = law.inputs.entries
        self._size, self._by_state = first.size, first.name == STATE
        measured = state.inputs.entries if self._by_state else (first,)
        self.inputs = Layout((*measured, *rest))
        self._others = sum(entry.size for entry in rest)
        self.state, self._control = state, control
        self._latency, self._greatest, self._ahead = latency, greatest, ahead

    def start(self, before: Measured | None = None) -> Measured:
        """Return the memory at the start."""
        law = self.law.start(None if before is None else before.law)
        return Measured(self.state.start(), law, np.zeros(self.output.size))

    def step(self, memory: Measured, inputs: ArrayLike, t: float) -> tuple[Measured, Array]:
        """
        Return memory and output after measurements.

        Parameters
        ----------
        memory
            The memory before.
        inputs
            Measurements, not a number where nothing is measured; then the other inputs.
        t
            Stamp of the measurements [s].

        """
        given = np.array(inputs, dtype=float)
        y, others = np.split(given, [given.size - self._others])
        since, law, missed = memory.belief.t, memory.law, 0
        if self.period and since > -math.inf and not self._by_state:
            missed = max(round((t - since) / self.period) - 1, 0)
        for _ in range(min(missed, GAP)):
            law, _ = self.law.step(law, [*np.full_like(y, np.nan), *others], t)
        whole = np.full(self.state.inputs.size, np.nan)
        whole[: y.size] = y
        belief, state = self.state.step(memory.belief, whole, t)
        acts = t + self._latency
        if self._by_state:
            y, t = (self.state.later(belief, acts), acts) if self._ahead else (state, t)
        elif not belief.verdict.possible:
            y = np.full_like(y, np.nan)
        law, output = self.law.step(law, [*y, *others], t)
        verdict = belief.verdict
        if verdict.fault:
            output = np.zeros_like(output)
        else:
            most = self._greatest * (LIMITED if verdict.limited else 1.0)
            output = np.clip(output, -most, most)
        u = np.array(self._control(output)).ravel()
        belief = self.state.acting(belief, u, acts)
        return Measured(belief, law, output, missed), output

    def as_function(self) -> LawFunction:
        """Return it as a function of vectors."""
        known, law = self.state.as_function(), as_function(self.law)
        n, p = known.memory.size, known.given(0.0)
        lead = self._latency if self._ahead else 0.0
        parts = math.ceil(lead / self.state.longest - 1e-9)

        def step(z: ca.SX, y: ca.SX, t: ca.SX, given: ca.SX) -> tuple[ca.SX, ca.SX]:
            (belief, own), (params, rest) = split(z, n), split(given, p.size)
            y, others = split(y, y.numel() - self._others)
            whole = ca.vertcat(y, np.full(self.state.inputs.size - y.numel(), np.nan))
            belief, x = split(known.function(belief, whole, t, params), n)
            late, nothing = belief, np.full(whole.numel(), np.nan)
            for k in range(1, parts + 1):
                at = t + lead * k / parts
                late, x = split(known.function(late, nothing, at, params), n)
            taken = ca.vertcat(x if self._by_state else y, others)
            own, u = split(law.function(own, taken, t + lead, rest), own.numel())
            u = ca.fmin(ca.fmax(u, -self._greatest), self._greatest)
            size = SENT * (1 + self.state.control.size)
            belief, sent = split(belief, n - size)
            sent = self.state.then_sent(sent, self._control(u), t + self._latency)
            return ca.vertcat(belief, sent, own), u

        memory = np.concatenate([known.memory, law.memory])
        return written(self, step, lambda t: np.concatenate([p, law.given(t + lead)]), memory)
