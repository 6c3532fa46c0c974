"""Closed loop of plant and controller in one process, in fixed steps: deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.law import gathered, Law, STATE
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.mode import Event
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.simulation import Stepper
from rolling_dynamics.simulation.emulation import Emulation, Measurement

PERIOD = 1e-3  # s, between looks for measurements under a law that has no period of its own


class ClosedLoop(NamedTuple):
    """
    Closed-loop motion, at every step and where it ended.

    Attributes
    ----------
    times
        Times [s], shape (k + 1,).
    states, controls
        Shapes (k + 1, n) and (k + 1, m); the last control is repeated.
    events
        Events of the motion, such as changes of mode; that of a guard that ended it is terminal.
    stamps, inputs, outputs
        Of each step of a law that answers sensors: time of the measurement [s], shape (j,), what
        it took and what it gave, shapes (j, i) and (j, o).
    memory
        Memory of that law at the end.

    """

    times: Array
    states: Array
    controls: Array
    events: tuple[Event, ...] = ()
    stamps: Array = np.zeros(0)
    inputs: Array = np.zeros((0, 0))
    outputs: Array = np.zeros((0, 0))
    memory: Any = None

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
    delay: int = 0,
    limits: ArrayLike = np.inf,
    signals: Callable[[float], Mapping[str, Array]] = lambda _: {},
) -> ClosedLoop:
    """
    Return the motion under a control law that is evaluated at a fixed rate and held in between.

    Parameters
    ----------
    system, p
        The plant; it goes through its modes.
    x_start
        State at the start.
    law
        The law, from its start; see :class:`StateFeedback` for a function of time and state.
    duration
        Duration [s].
    rate
        Steps of the law per second [Hz].
    delay
        Steps between the state that the law takes and the present.
    limits
        Maximum magnitude of each control, shape (m,) or one for all, in their units.
    signals
        From a time [s] to the other inputs of the law by name.

    Returns
    -------
    ClosedLoop
        At every step. It ends before its time at a guard that ends the motion, by an event.

    """
    steps = round(duration * rate)
    dt = duration / steps
    plant = Stepper(system, p, max_step=dt)
    x = np.array(x_start, dtype=float)
    measured: deque[Array] = deque([x] * (delay + 1), maxlen=delay + 1)
    memory, most = law.start(), np.asarray(limits, dtype=float)

    def answered(t: float) -> Array:
        nonlocal memory
        memory, u = law.step(memory, gathered(law.inputs, {STATE: measured[0], **signals(t)}), t)
        return np.asarray(np.minimum(np.maximum(u, -most), most))

    controls = [answered(0.0)]
    s = plant.begin(x, controls[0])
    times, states, events = [0.0], [x], list(s.events)
    while s.ended is None and len(times) <= steps:
        k = len(times)
        s = plant.step(s, controls[-1], k * dt - s.t)
        times.append(s.t)
        states.append(s.x)
        events += s.events
        measured.append(s.x)
        more = s.ended is None and k < steps
        controls.append(answered(k * dt) if more else controls[-1])
    columns = np.array(times), np.array(states), np.array(controls)
    return ClosedLoop(*columns, tuple(events), memory=memory)


def run_emulated(
    plant: Emulation,
    law: Law[Any],
    inputs: Callable[[Measurement], Array],
    duration: float,
    control: Callable[[Array], Array],
    delay: float = 0.0,
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

    Returns
    -------
    ClosedLoop
        At every step of the plant. It ends before its time at a guard that ends the motion.

    """
    memory, rows = law.start(), []
    period = law.period or PERIOD
    for k in range(int(np.floor(duration / period)) + 1):
        for m in plant.advance(k * period + delay):
            given = inputs(m)
            memory, output = law.step(memory, given, m.stamp)
            plant.send(control(output), m.arrival)
            rows.append((m.stamp, given, output))
        if plant.state.ended is not None:
            break
    stamps, taken, outputs = (np.array(column) for column in zip(*rows, strict=True))
    states, controls = np.array([s.x for s in plant.states]), np.array(plant.controls)
    events, times = tuple(plant.events), np.array(plant.times)
    return ClosedLoop(times, states, controls, events, stamps, taken, outputs, memory)
