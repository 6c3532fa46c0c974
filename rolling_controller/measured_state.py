"""State of any machine from its sensors: a Kalman filter on its equations and its sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import Law
from rolling_controller.nominal import Linearization
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.instruments import Sensor
from rolling_dynamics.contract.layout import Entry, Layout
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.sensing import Measurement

LONGEST = 5e-3  # s, of a step of the integration
DRIFT = 0.1  # 1/sqrt(s), standard deviation by which unknown forces change an entry over its scale
GAP = 0.1  # s without measurements, after which the state is as uncertain as at the start
START = 0.01  # standard deviation of the start, over the scale of an entry


class Belief(NamedTuple):
    """
    Estimate of the state.

    Attributes
    ----------
    x, P
        State, and its covariance in tangent units.
    t
        Time of both [s]; None before the first measurement.

    """

    x: Array
    P: Array
    t: float | None = None


class SensorFilter:
    """
    Filter of what the sensors of a machine measure, in the first mode of its system.

    Attributes
    ----------
    inputs
        Layout of the measurements of all sensors; what is not measured is not a number.
    sensors
        The sensors by name.

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        sensors: Sequence[Sensor],
        x_start: ArrayLike,
        *,
        drift: float = DRIFT,
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
        drift
            Standard deviation by which unknown forces change each entry of the state over its
            scale in a second [1/sqrt(s)].

        """
        self._p, self._x_start = np.asarray(p, dtype=float), np.array(x_start, dtype=float)
        self.sensors: Mapping[str, Sensor] = {s.name: s for s in sensors}
        self.inputs = Layout(
            tuple(
                Entry(s.name, tuple(f'{s.name}_{n}' for n in s.output.names), '') for s in sensors
            )
        )
        self._step = Stepper(system, self._p, max_step=LONGEST).step
        self._linearization = Linearization(system)
        self._retract = FastFunction(compiled(_retraction(system))[0])
        self._measured = [FastFunction(compiled(_measured(s, system))[0]) for s in sensors]
        scales = [e.scale for e in system.tangent.entries for _ in range(e.size)]
        self._Q, self._P_start = (np.diag(np.square(k * np.array(scales))) for k in (drift, START))

    def start(self) -> Belief:
        """Return what is known before the first measurement."""
        return Belief(self._x_start, self._P_start)

    def given(self, measurement: Measurement) -> Array:
        """Return inputs for a measurement of an emulation: shape (inputs.size,), units of y."""
        return self.of(measurement.sensor.name, measurement.value)

    def of(self, name: str, value: ArrayLike) -> Array:
        """Return inputs for a measurement of a sensor: shape (output.size,), in its units."""
        out = np.full(self.inputs.size, np.nan)
        out[self.inputs.slice(name)] = value
        return out

    def step(self, belief: Belief, inputs: ArrayLike, u: Array, t: float) -> Belief:
        """
        Return what is known after measurements at a time.

        Parameters
        ----------
        belief
            What was known before.
        inputs
            Measurements, see ``inputs``.
        u
            Control since the measurement before, shape (control.size,).
        t
            Stamp of the measurements [s].

        """
        x, P = belief.x, belief.P
        h = 0.0 if belief.t is None else t - belief.t
        if h > GAP:  # the control in between is not known
            P = self._P_start
        elif h > 0.0:
            x, P = self._predicted(x, P, u, t - h, h)
        given = np.asarray(inputs, dtype=float)
        for sensor, function in zip(self.sensors.values(), self._measured, strict=True):
            y = given[self.inputs.slice(sensor.name)]
            seen = np.isfinite(y)
            if seen.any():
                out = function(x, u, t, self._p).reshape(-1, y.size).T
                expected, H = out[seen, 0], out[seen, 1:]
                x, P = self._corrected(
                    x,
                    P,
                    _near(sensor, y, out[:, 0])[seen] - expected,
                    H,
                    sensor.covariance[np.ix_(seen, seen)],
                )
        return Belief(x, P, t if belief.t is None else max(t, belief.t))

    def _predicted(self, x: Array, P: Array, u: Array, t: float, h: float) -> tuple[Array, Array]:
        after = self._step(x, u, h, t)
        ramps = u[None], u[None]
        steps = self._linearization.along(
            self._p, np.array([t, t + h]), np.array([x, after]), ramps
        )
        return after, steps.A[0] @ P @ steps.A[0].T + h * self._Q

    def _corrected(
        self, x: Array, P: Array, innovation: Array, H: Array, R: Array
    ) -> tuple[Array, Array]:
        S = H @ P @ H.T + R
        K = np.linalg.solve(S, H @ P).T
        rest = np.eye(len(P)) - K @ H
        return self._retract(x, K @ innovation).copy(), rest @ P @ rest.T + K @ R @ K.T


def _near(sensor: Sensor, y: Array, expected: Array) -> Array:
    """Return a measurement with each quaternion on the side of the one expected."""
    out = y.copy()
    for entry in sensor.output.entries:
        where = sensor.output.slice(entry.name)
        if entry.kind == 'quaternion' and out[where] @ expected[where] < 0:
            out[where] *= -1
    return out


def _measured(sensor: Sensor, system: RollingSystem) -> ca.Function:
    """Return ``(x, u, t, p) -> y`` beside its derivative by the tangent of x, column by column."""
    x, u = ca.SX.sym('x', system.state.size), ca.SX.sym('u', system.control.size)
    t, p = ca.SX.sym('t'), ca.SX.sym('p', system.parameters.size)
    d = ca.SX.sym('d', system.tangent.size)
    function = sensor.function(system, next(iter(system.modes)))
    y = function(system.retract(x, d), u, t, p)
    both = ca.horzcat(function(x, u, t, p), ca.substitute(ca.jacobian(y, d), d, 0))
    return ca.Function(f'measured_{sensor.name}', [x, u, t, p], [ca.densify(ca.vec(both))])


def _retraction(system: RollingSystem) -> ca.Function:
    x, d = ca.SX.sym('x', system.state.size), ca.SX.sym('d', system.tangent.size)
    return ca.Function('moved_state', [x, d], [ca.densify(system.retract(x, d))])


class Measured(NamedTuple):
    """Memory of a law with a filter: both memories, and the control that was sent last."""

    belief: Belief
    law: Any
    u: Array


class MeasuredLaw:
    """A law of the state that gets it from sensors; see :class:`rolling_controller.law.Law`."""

    period: float | None = None
    opaque = 'a filter in Python'

    def __init__(self, state: SensorFilter, law: Law[Any]) -> None:
        """Take the filter, and a law whose only input is the state."""
        self._filter, self._law = state, law
        self.inputs, self.output = state.inputs, law.output

    def start(self, before: Measured | None = None) -> Measured:  # noqa: ARG002
        """Return the memory at the start."""
        return Measured(self._filter.start(), self._law.start(), np.zeros(self.output.size))

    def step(self, memory: Measured, inputs: ArrayLike, t: float) -> tuple[Measured, Array]:
        """Return memory and control after measurements at a time [s]."""
        belief = self._filter.step(memory.belief, inputs, memory.u, t)
        law, u = self._law.step(memory.law, belief.x, t)
        return Measured(belief, law, u), u
