"""State of any machine from its sensors: a Kalman filter on its equations and its sensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
import math
from typing import Any, NamedTuple, Protocol

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import Law, STATE, state_inputs
from rolling_controller.nominal import step_functions
from rolling_controller.supervisor import Memory, OPENING, Sample, Source, step, Verdict
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.rolling_system import Entry, Layout, RollingSystem, Symbols
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.sensing import Measurement

LONGEST = 5e-3  # s, of a step of the integration
STILL = 1e-9  # greatest slope of a measurement that no motion changes
DRIFT = 0.1  # 1/sqrt(s), standard deviation by which unknown forces change an entry over its scale
# a gap, in periods of the slowest sensor and at least in s: then it is as unsure as at the start
GAP, SHORTEST = 10, 0.1
START, LOST = 0.01, 1.0  # standard deviations of the start, and of an estimate that is reopened
ROUNDING = 1e-6  # of a period
EXACT = 1e-6  # of its scale, standard deviation of a number that is measured without noise
DEPENDS = 1e-10  # of the greatest singular value, of rows of contacts that depend on others
LIMITED = 0.5  # of the greatest output of a law, while an estimate is open
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
        Controls by the time from which they act [s], the oldest being in force.
    t
        Time of the estimate [s]; None before the first measurement.
    memories
        Memory of the supervisor by sensor.
    verdict
        What the supervisor says of the newest measurements.

    """

    x: Array
    force: Array
    P: Array
    sent: tuple[tuple[float, Array], ...]
    t: float | None = None
    memories: Mapping[str, Memory] = {}
    verdict: Verdict = Verdict()

    def acting(self, u: Array, at: float) -> Belief:
        """Return the belief with a control, shape (control.size,), that acts from a time [s]."""
        kept = tuple(pair for pair in self.sent if pair[0] < at)
        return self._replace(sent=(*kept, (at, u)))


class _Closed(Protocol):
    closing_rows: ca.Function | None


class SensorFilter:
    """
    Kalman filter of what the sensors of a machine measure, in the first mode of its system.

    It is an estimator in the form of a law; see :class:`rolling_controller.law.Law`. A number
    that is measured without noise counts with the standard deviation :data:`EXACT` of its scale.
    One that no motion changes, such as the height of a ball over its plate, says nothing. Contacts
    that close loops of a machine are known to be closed, and not to slip.

    Attributes
    ----------
    inputs
        Layout of the measurements of all sensors; what is not measured is not a number.
    output
        Layout of the state.
    sensors
        The sensors by name.

    """

    period = None
    opaque = 'a filter whose steps in time follow what is measured and sent'

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
    ) -> None:
        """
        Compile prediction and measurements.

        Parameters
        ----------
        system, p
            The machine.
        sensors
            Its sensors.
        x_start
            State from which it starts, shape (state.size,).
        start, lost
            Standard deviation of each tangent entry at the start, and where the supervisor
            reopens the estimate, of which an entry without one is not part.
        drift
            Standard deviation by which unknown forces change each tangent entry in a second
            [1/sqrt(s)].
        forces
            Tangent entries whose rate of change has an unknown part that is constant, but for a
            random walk: standard deviation at the start, and strength of the walk [1/sqrt(s)].
        sources
            What the supervisor knows of sensors, by name; others are not supervised.

        """
        self._p, self._x_start = np.asarray(p, dtype=float), np.array(x_start, dtype=float)
        self.sensors: Mapping[str, Sensor] = {s.name: s for s in sensors}
        self._sources = dict(sources or {})
        self._gap = max(GAP / min(s.rate for s in sensors), SHORTEST)
        self.inputs = Layout(
            tuple(
                Entry(s.name, tuple(f'{s.name}_{n}' for n in s.output.names), '') for s in sensors
            )
        )
        self.output = state_inputs(system)
        self._step = Stepper(system, self._p, max_step=LONGEST).step
        self._jacobian = FastFunction(step_functions(system)[1])
        self._says = [np.diag(s.covariance) + s.bias**2 > 0.0 for s in sensors]
        for k, sensor in enumerate(sensors):
            self._says[k] |= _moved_by_the_state(sensor, system, self._p, self._x_start)
        tangent, forces = system.tangent, dict(forces or {})
        rows = [k for name in forces for k in range(*tangent.slice(name).indices(tangent.size))]
        self._B = np.eye(tangent.size)[:, rows]
        self._moved = FastFunction(compiled(_retraction(system))[0])
        closed = offers(system, _Closed)
        rows_of = None if closed is None else closed.closing_rows
        self._closing = None if rows_of is None else FastFunction(compiled(rows_of)[0])
        corrections = compiled(*(_correction(s, system, len(rows)) for s in sensors))
        self._corrections = [FastFunction(f) for f in corrections]
        sizes = [len(tangent.entry(name).components) for name in forces]
        unsure, walk = (
            np.repeat([pair[k] for pair in forces.values()], sizes) if forces else np.zeros(0)
            for k in range(2)
        )
        self._spread = np.concatenate([_spread(tangent, start), unsure])
        self._lost = np.concatenate([_spread(tangent, lost), np.zeros(unsure.size)])
        self._Q = np.diag(np.concatenate([_spread(tangent, drift), walk]) ** 2)
        self._idle = np.zeros(system.control.size)

    def start(self, before: Belief | None = None) -> Belief:  # noqa: ARG002
        """Return what is known before the first measurement."""
        force, P = np.zeros(self._B.shape[1]), np.diag(self._spread**2)
        return self._closed(Belief(self._x_start, force, P, ((-math.inf, self._idle),)))

    def corrections(self, period: float) -> Array:
        """
        Return the variance by which measurements correct each tangent number in a period [s].

        So much successive estimates differ from what the equations predict, and never by more
        than the errors of both. It is that of a machine at its start, after it was measured for a
        while, and has the shape (n,).
        """
        until = self._gap + max(period, 1.0 / min(s.rate for s in self.sensors.values()))
        before, after = self._measured_until(self._gap), self._measured_until(until)
        without, P = (np.diag(b.P) for b in (self._predicted(before, until), after))
        return np.clip(without - P, 0.0, 4.0 * P)[: len(self._B)]

    def _measured_until(self, end: float) -> Belief:
        """Return what is known at the start of the machine, of what is known at a time [s]."""
        belief, least, times = self.start(), min(s.delay for s in self.sensors.values()), []
        for k, s in enumerate(self.sensors.values()):
            count = math.floor((end + least - s.delay) * s.rate + ROUNDING)
            times += [(i / s.rate, k, s) for i in range(count + 1)]
        for t, k, sensor in sorted(times, key=lambda one: one[:2]):
            y = np.zeros(sensor.output.size)
            after = self._corrected(self._predicted(belief, t), k, y, self._says[k], t)[1]
            belief = belief._replace(P=after.P, t=t)
        return self._predicted(belief, end)

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
        Return what is known after measurements at a time, and the estimate of the state.

        Parameters
        ----------
        memory
            What was known before, with the controls that were sent since.
        inputs
            Measurements, see ``inputs``.
        t
            Stamp of the measurements [s].

        """
        belief = memory
        if belief.t is None or t > belief.t:
            belief = self._predicted(belief, t)
        given, verdicts = np.asarray(inputs, dtype=float), []
        for k, (name, sensor) in enumerate(self.sensors.items()):
            y = given[self.inputs.slice(name)]
            if np.isfinite(y).any() or len(self.sensors) == 1:
                belief, verdict = self._taken(belief, k, sensor, y, t)
                verdicts.append(verdict)
        fault = next((v.fault for v in verdicts if v.fault), '')
        limited, possible = any(v.limited for v in verdicts), all(v.possible for v in verdicts)
        belief = belief._replace(verdict=Verdict(fault, limited=limited, possible=possible))
        return belief, belief.x.copy()

    def _taken(
        self, belief: Belief, k: int, sensor: Sensor, y: Array, t: float
    ) -> tuple[Belief, Verdict]:
        """Return what is known after a measurement, and what the supervisor says of it."""
        used = self._says[k] & np.isfinite(y)
        r, corrected = self._corrected(belief, k, y, used, t)
        source, verdict = self._sources.get(sensor.name), Verdict()
        if source is not None:
            content = y[self._says[k]]
            sample = Sample(r[used], np.ones(r[used].size), content, content)
            memory = belief.memories.get(sensor.name, Memory())
            memory, verdict = step(source, memory, sample, t)
            memories = {**belief.memories, sensor.name: memory}
            belief, corrected = (one._replace(memories=memories) for one in (belief, corrected))
        if verdict.reopen and verdict.possible:
            _, corrected = self._corrected(self._reopened(belief), k, y, used, t)
        return (corrected if verdict.possible else belief), verdict

    def _corrected(
        self, belief: Belief, k: int, y: Array, used: NDArray[np.bool_], t: float
    ) -> tuple[Array, Belief]:
        """Return innovations of unit covariance, shape (y.size,), and the belief with them."""
        u = _in_force(belief.sent, t)
        out = self._corrections[k](
            belief.x, belief.force, belief.P.ravel(), np.where(used, y, 0.0), used, u, t, self._p
        )
        P, n, end = belief.P, belief.x.size, out.size - y.size
        force, after = out[n : n + belief.force.size], out[n + belief.force.size : end]
        return out[end:], belief._replace(x=out[:n], force=force, P=after.reshape(P.shape))

    def _reopened(self, belief: Belief) -> Belief:
        """Return a belief that is as unsure as one that is lost; forces stay."""
        which = self._lost > 0.0
        P = np.where(np.logical_or.outer(which, which), 0.0, belief.P)
        P[which, which] = self._lost[which] ** 2
        return self._closed(belief._replace(P=P))

    def _closed(self, belief: Belief) -> Belief:
        """Return what is known, with the knowledge that contacts are closed and do not slip."""
        if self._closing is None:
            return belief
        P, n = belief.P, self._B.shape[0]
        G = self._closing(belief.x, self._p).reshape(n, -1).T
        H = np.hstack([G, np.zeros((len(G), len(P) - n))])
        gain = P @ H.T @ np.linalg.pinv(H @ P @ H.T, rcond=DEPENDS, hermitian=True)
        rest = np.eye(len(P)) - gain @ H
        return belief._replace(P=rest @ P @ rest.T)

    def _predicted(self, belief: Belief, t: float) -> Belief:
        """Return what is known at a later time, under the controls that were sent."""
        since = belief.t
        if since is not None and t - since > self._gap:
            P = np.diag(self._spread**2)  # unsure as at the start, where it was left
            belief, since = belief._replace(P=P, memories={}), None
        x, P, n, force = belief.x, belief.P, len(self._B), belief.force
        for u, begin, h in _pieces(belief.sent, t if since is None else since, t):
            kick = self._B @ force * (h / 2)
            x = self._moved(x, kick) if force.size else x
            after = self._step(x, u, h, begin)
            self._jacobian.renew()
            J = self._jacobian(x, after, u, u, begin, h, self._p).reshape(-1, n).T[:, :n]
            F = np.eye(len(P))
            F[:n, :n] = J
            F[:n, n:] = h / 2 * (J @ self._B + self._B)
            P = F @ P @ F.T + h * self._Q
            x = self._moved(after, kick) if force.size else after
        sent = tuple(
            pair for k, pair in enumerate(belief.sent)
            if k + 1 == len(belief.sent) or belief.sent[k + 1][0] > t
        )  # fmt: skip
        return self._closed(belief._replace(x=x, P=P, t=t, sent=sent))


def _pieces(
    sent: Sequence[tuple[float, Array]], begin: float, end: float
) -> Iterator[tuple[Array, float, float]]:
    """Yield control, beginning and duration [s] of the steps between two times."""
    ends = [at for at, _ in sent[1:]] + [math.inf]
    for (_, u), until in zip(sent, ends, strict=True):
        h = min(until, end) - begin
        if h > 0.0:
            count = math.ceil(h / LONGEST * (1 - 1e-12))
            for k in range(count):
                yield u, begin + k * h / count, h / count
            begin += h


def _in_force(sent: Sequence[tuple[float, Array]], t: float) -> Array:
    """Return the control that acts at a time [s]."""
    return next((u for at, u in reversed(sent) if at <= t), sent[0][1])


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
    n, m = system.tangent.size, sensor.output.size
    x, u, t, p = Symbols.of(system.state, system.control, system.parameters)
    d, force = ca.SX.sym('d', n), ca.SX.sym('force', forces)
    P = ca.SX.sym('P', n + forces, n + forces)
    y, used = ca.SX.sym('y', m), ca.SX.sym('used', m)
    function = sensor.function(system, next(iter(system.modes)))
    scales = np.array([e.scale for e in sensor.output.entries for _ in range(e.size)])
    exact = np.where(
        np.diag(sensor.covariance) + sensor.bias**2 > 0.0, sensor.bias, EXACT * scales
    )
    H = ca.substitute(ca.jacobian(function(system.retract(x, d), u, t, p), d), d, 0)
    expected, near = ca.SX(function(x, u, t, p)), ca.SX(y)
    for entry in sensor.output.entries:
        where = sensor.output.slice(entry.name)
        if entry.kind == 'quaternion':
            near[where] *= ca.if_else(ca.dot(y[where], expected[where]) < 0, -1, 1)
    only = ca.diag(used)
    H = ca.horzcat(only @ H, ca.SX(m, forces))
    R = only @ ca.SX(sensor.covariance + np.diag(exact**2)) @ only
    S = ca.densify(H @ P @ H.T + R + ca.diag(1 - used))  # what is not used is expected as it is
    L = ca.chol(S).T
    r = ca.solve(L, used * (near - expected))
    G = ca.solve(L, H @ P)  # the gain is G.T inv(L)
    K = ca.solve(L.T, G).T
    rest = ca.SX.eye(n + forces) - K @ H
    change = G.T @ r
    after = rest @ P @ rest.T + K @ R @ K.T
    out = ca.vertcat(
        system.retract(x, change[:n]), force + change[n:], ca.densify(ca.vec(after)), r
    )
    args = [x, force, P, y, used, u, t, p]
    return ca.Function(f'correction_{sensor.name}', args, [ca.densify(out)])


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


def _retraction(system: RollingSystem) -> ca.Function:
    x, d = ca.SX.sym('x', system.state.size), ca.SX.sym('d', system.tangent.size)
    return ca.Function('moved_state', [x, d], [ca.densify(system.retract(x, d))])


def sensor_source(sensor: Sensor) -> Source:
    """Return what the supervisor knows of a sensor: a push reopens the estimate once."""
    noise = np.sqrt(np.diag(sensor.covariance))
    return Source(
        name=f'sensor {sensor.name}',
        period=1.0 / sensor.rate,
        noise=float(noise[noise > 0.0].min(initial=np.inf)) if noise.any() else 0.0,
        opening=OPENING,
    )


class Measured(NamedTuple):
    """
    Memory of a law with a filter.

    Attributes
    ----------
    belief, law
        Memories of the filter and of the law.
    output
        What was sent last.
    missed
        How many measurements were missing before the newest.

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
    A law behind a filter of what sensors measure; see :class:`rolling_controller.law.Law`.

    It is opaque where one of both is. A law of the input ``state`` takes the filter's. Any other
    takes what the first sensor measures, as many numbers as its first input has, where the
    supervisor takes that for possible; with a period, it also steps for each measurement that is
    missing. From a fault of the supervisor on the output is zero, and it is limited while the
    estimate is open.
    """

    def __init__(
        self,
        state: SensorFilter,
        law: Law[Any],
        *,
        control: Callable[[Array], Array] = np.array,
        latency: float = 0.0,
        greatest: float = math.inf,
    ) -> None:
        """
        Take a filter and a law.

        Parameters
        ----------
        state, law
            The filter and the law.
        control
            From the output of the law to the control of the machine.
        latency
            From a measurement until the control that answers it acts [s].
        greatest
            Greatest magnitude of an output.

        """
        self.law, self.period, self.output = law, law.period, law.output
        self.opaque = state.opaque or law.opaque
        first, *rest = law.inputs.entries
        self._size, self._by_state = first.size, first.name == STATE
        measured = state.inputs.entries if self._by_state else (first,)
        self.inputs = Layout((*measured, *rest))
        self._others = sum(entry.size for entry in rest)
        self._filter, self._control = state, control
        self._latency, self._greatest = latency, greatest

    def start(self, before: Measured | None = None) -> Measured:
        """Return the memory at the start."""
        law = self.law.start(None if before is None else before.law)
        return Measured(self._filter.start(), law, np.zeros(self.output.size))

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
        if self.period and since is not None and not self._by_state:
            missed = max(round((t - since) / self.period) - 1, 0)
        for _ in range(min(missed, GAP)):
            law, _ = self.law.step(law, [*np.full_like(y, np.nan), *others], t)
        whole = np.full(self._filter.inputs.size, np.nan)
        whole[: y.size] = y
        belief, state = self._filter.step(memory.belief, whole, t)
        if self._by_state:
            y = state
        elif not belief.verdict.possible:
            y = np.full_like(y, np.nan)
        law, output = self.law.step(law, [*y, *others], t)
        verdict = belief.verdict
        if verdict.fault:
            output = np.zeros_like(output)
        else:
            most = self._greatest * (LIMITED if verdict.limited else 1.0)
            output = np.clip(output, -most, most)
        belief = belief.acting(self._control(output), t + self._latency)
        return Measured(belief, law, output, missed), output
