"""Closed loop of plant and controller in one process, in fixed steps: deterministic."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.law import answered, as_function, check_inputs, gathered, Law, STATE
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.batch.emulation import EmulatedBatch
from rolling_dynamics.batch.kernels import VectorFunction
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import Event, RollingSystem
from rolling_dynamics.simulation.emulation import Emulation, LONGEST
from rolling_dynamics.simulation.sensing import Measurement

PERIOD = 1e-3  # s, between looks for measurements under a law that has no period of its own
Given = tuple[float, float, Array]  # stamp and arrival of a measurement [s], inputs of the law
Jump = ArrayLike | Callable[[Array], Array]


class ClosedLoop(NamedTuple):
    """
    Closed-loop motion, at every step of the plant and at its end.

    Attributes
    ----------
    times
        Times [s], shape (k + 1,).
    states, controls
        Shapes (k + 1, n) and (k + 1, m); the last control is repeated.
    events
        Events of the motion, such as changes of mode; a guard that ended it is terminal.
    stamps, inputs, outputs
        Of each step of the law: time of the measurement [s], shape (j,), and its inputs and
        outputs, shapes (j, i) and (j, o).
    memory
        Memory of the law at the end.

    Examples
    --------
    >>> from rolling_controller import Hold, run_lockstep
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> run = run_lockstep(s.system, s.p, s.x0, Hold(s.system, s.p, s.x0), 0.2)
    >>> run.controls.shape, run.events
    ((201, 2), ())

    """

    times: Array
    states: Array
    controls: Array
    events: tuple[Event, ...]
    stamps: Array
    inputs: Array
    outputs: Array
    memory: Any

    @property
    def ended(self) -> Event | None:
        """Event of the guard that ended the motion; None if it lasted its time."""
        return next((event for event in self.events if event.terminal), None)


def run_lockstep(
    system: RollingSystem,
    p: ArrayLike,
    x_start: ArrayLike,
    law: Law[Any],
    duration: float,
    *,
    rate: float = 1000.0,
    limits: ArrayLike = np.inf,
    actuators: Sequence[Actuator] = (),
    signals: Callable[[float], Mapping[str, Array]] = lambda _: {},
    pushes: Sequence[tuple[float, Jump]] = (),
) -> ClosedLoop:
    """
    Simulate a control law that is evaluated at a fixed rate and held in between.

    Parameters
    ----------
    system, p
        The plant, with its changes of mode.
    x_start
        State at the start.
    law
        The law, from its start; see :class:`StateFeedback` for a function of time and state.
    duration
        Duration [s].
    rate
        Steps of the law per second [Hz].
    limits
        Maximum magnitude of each control, shape (m,) or one for all, in their units.
    actuators
        How commands become controls, such as by a dead time; unchanged if empty.
    signals
        ``t -> value`` with t in s, for the other inputs of the law by name.
    pushes
        Jumps of the state: time of each [s], and a tangent vector, shape (tangent.size,), or a
        function from the state to that after it.

    Returns
    -------
    ClosedLoop
        The motion; a terminal guard ends it early, by an event.

    Raises
    ------
    SimulationError
        The motion ends where it starts.

    Examples
    --------
    >>> from rolling_controller import Hold, run_lockstep
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('two_wheeler')
    >>> law = Hold(s.system, s.p, s.x0)
    >>> run_lockstep(s.system, s.p, s.x0, law, 0.2).states.shape
    (201, 17)

    """
    steps = round(duration * rate)
    plant = Emulation(system, p, actuators=actuators, limits=limits)
    dt, x = duration / steps, np.array(x_start, dtype=float)
    jumps = {round(at / dt): jump for at, jump in pushes}

    def look(k: int) -> Iterable[Given]:
        if k > 0:
            plant.advance(k * dt)
            if k in jumps:
                _push(plant, jumps[k])
            if plant.state.ended is not None or k == steps:
                return ()
        t, now = k * dt, plant.state.x if k else x
        return [(t, t, gathered(law.inputs, {STATE: now, **signals(t)}))]

    def send(u: Array, at: float) -> None:
        if at > 0.0:
            plant.send(u, at)
        else:  # the mode at the start depends on the first control
            plant.restart(x, u)

    return _answered(plant, law, steps, look, send)


class ClosedLoops(NamedTuple):
    """
    Closed-loop motions, at every step of the law.

    Attributes
    ----------
    times
        Clocks [s], shape (steps + 1, motions); clocks of stopped motions do not advance.
    states, controls
        Shapes (steps + 1, motions, n) and (steps, motions, m): controls in force at each step.
    stopped
        Cause of the end of each motion, see :attr:`BatchSimulator.stopped`.
    memory
        Memory of the law at the end, see :class:`LawFunction`, shape (k, motions).

    """

    times: Array
    states: Array
    controls: Array
    stopped: NDArray[np.str_]
    memory: Array


def run_batch(
    system: RollingSystem,
    p: ArrayLike,
    starts: ArrayLike,
    law: Law[Any],
    duration: float,
    *,
    rate: float = 1000.0,
    limits: ArrayLike = np.inf,
    sensors: Sequence[Sensor] = (),
    actuators: Sequence[Actuator] = (),
    seed: int = 0,
    signals: Callable[[float], Mapping[str, Array]] = lambda _: {},
) -> ClosedLoops:
    """
    Simulate many plants under one law, as :func:`run_lockstep` does for one.

    Parameters
    ----------
    system, p
        The plant, and its parameters: one for all, or a row for each motion.
    starts
        States at the start, shape (motions, state.size).
    law
        A law that is not opaque; it starts for each motion. Its inputs are the state, entries of
        it or, as for an estimator, the newest measurements of sensors by name.
    duration, rate, limits, actuators, signals
        See :func:`run_lockstep`; a signal has the shape (size,) for all motions, or
        (size, motions).
    sensors, seed
        Sensors of each motion, see :class:`.EmulatedBatch`, and the seed of their noise. With
        sensors, controls are zero until the first command acts.

    Raises
    ------
    ParameterError
        The law is opaque, or takes an input that does not exist.

    Examples
    --------
    >>> from rolling_controller import Hold, run_batch
    >>> from rolling_dynamics import load_scenario
    >>> s = load_scenario('spin_rolling_ball')
    >>> law = Hold(s.system, s.p, s.x0)
    >>> run_batch(s.system, s.p, [s.x0, s.x0], law, 0.1).states.shape
    (101, 2, 6)

    """
    made, steps = as_function(law), round(duration * rate)
    dt, rows = duration / steps, np.asarray(starts, dtype=float)
    where = {e.name: system.state.slice(e.name) for e in system.state.entries}
    check_inputs(law, (STATE, *where, *(s.name for s in sensors), *signals(0.0)))
    step, n = VectorFunction(made.function, len(rows)), made.memory.size
    parts = math.ceil(dt / LONGEST * (1 - 1e-12)) if sensors or actuators else 1
    batch = BatchSimulator(system, len(rows), dt / parts)
    batch.reset(states=rows, parameters=p)
    plant = EmulatedBatch(batch, sensors, actuators, limits=limits)
    seeds = [(seed, k) for k in range(len(rows))]
    plant.restart(seeds)
    memory, m = made.memory, system.control.size
    times, states = np.empty((steps + 1, len(rows))), np.empty((steps + 1, *rows.shape))
    times[0], states[0], controls = batch.times, batch.states, np.empty((steps, len(rows), m))

    def columns(values: Array) -> Array:
        shape = len(values), len(rows)
        return np.broadcast_to(values if np.ndim(values) == 2 else values[:, None], shape)

    for k in range(steps):
        t, x = k * dt, batch.states.T
        known = {STATE: x, **{name: x[part] for name, part in where.items()}}
        known |= {name: plant.values[:, part].T for name, (_, part) in plant.sensors.items()}
        given = known | {name: columns(value) for name, value in signals(t).items()}
        out = step(memory, gathered(law.inputs, given), [t], made.given(t))
        memory = out[:n].copy()
        if k == 0 and not sensors:  # in force at the start, as in one motion
            plant.restart(seeds, u=out[n:].T)
        controls[k] = plant.step(out[n:].T, parts)[0]
        times[k + 1], states[k + 1] = batch.times, batch.states
    return ClosedLoops(times, states, controls, batch.stopped, memory)


def run_emulated(
    plant: Emulation,
    law: Law[Any],
    inputs: Callable[[Measurement], Array],
    duration: float,
    control: Callable[[Array], Array],
    delay: float = 0.0,
    pushes: Sequence[tuple[float, Jump]] = (),
) -> ClosedLoop:
    """
    Return the motion of a plant whose measurements a law answers as they arrive.

    Parameters
    ----------
    plant
        Plant, sensors and actuators, at their start.
    law
        The law.
    inputs
        From a measurement to the inputs of the law.
    duration
        Duration [s].
    control
        From the output of the law to the control of the plant.
    delay
        From a measurement until it is known [s].
    pushes
        See :func:`run_lockstep`.

    Returns
    -------
    ClosedLoop
        It ends before its time at a guard that ends the motion.

    """
    period, left = law.period or PERIOD, sorted(pushes, key=lambda push: push[0])

    def look(k: int) -> Iterable[Given]:
        until, known = k * period + delay, list[Measurement]()
        while left and left[0][0] <= until:
            at, jump = left.pop(0)
            known += plant.advance(at)
            _push(plant, jump)
        return ((m.stamp, m.arrival, inputs(m)) for m in known + plant.advance(until))

    def send(output: Array, at: float) -> None:
        plant.send(control(output), at)

    return _answered(plant, law, int(np.floor(duration / period)), look, send)


def _push(plant: Emulation, jump: Jump) -> None:
    """Have the state of a plant jump, unless its motion has ended."""
    x = plant.state.x
    if plant.state.ended is None:
        after = jump(x) if callable(jump) else plant.system.retract(x, jump)
        plant.put(np.array(after).ravel())


def _answered(
    plant: Emulation,
    law: Law[Any],
    steps: int,
    look: Callable[[int], Iterable[Given]],
    send: Callable[[Array, float], None],
) -> ClosedLoop:
    """Return the motion of a plant under the answers to what each look gives."""

    def motion() -> Generator[tuple[float, Array], Array, list[tuple[float, Array, Array]]]:
        rows = []
        for k in range(steps + 1):
            for stamp, arrival, given in look(k):
                output = yield stamp, given
                send(output, arrival)
                rows.append((stamp, given, output))
            if plant.state.ended is not None:
                break
        return rows

    rows, memory = answered(law, motion())
    stamps, taken, outputs = (np.array(column) for column in zip(*rows, strict=True))
    columns = np.array(plant.times), np.array([s.x for s in plant.states])
    controls = np.array([*plant.controls[1:], plant.controls[-1]])
    events = (*plant.states[0].events, *plant.events)
    return ClosedLoop(*columns, controls, events, stamps, taken, outputs, memory)
