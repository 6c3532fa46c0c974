"""Emulated machines: a plant between its actuators and its sensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.mode import Event, MotionState
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_dynamics.errors import ParameterError, RollingError, SimulationError
from rolling_dynamics.simulation.stepper import Stepper

LONGEST = 2e-3  # s, of a step of the plant
SAME_TIME = 1e-12  # s
NO_STATE = 'not_finite'  # event: the equations have no value any more


class Measurement(NamedTuple):
    """
    A measurement of a sensor.

    Attributes
    ----------
    sensor
        Its sensor.
    stamp, arrival
        When it was taken, and when it is known [s].
    value
        In the units of the sensor's layout; not a number where it sees nothing.

    """

    sensor: Sensor
    stamp: float
    arrival: float
    value: Array


class Emulation:
    """
    Plant, actuators and sensors, stepped as time goes on; deterministic for a seed.

    Attributes
    ----------
    system, p
        The plant.
    state
        Its state with its mode; ``state.ended`` once a guard has ended the motion.
    instrumented
        Whether it has sensors or actuators.
    time
        Time to which it was advanced last [s]; where the motion has ended, ``state.t`` stays.
    u, newest
        Control in force, and the command that was sent last, in the units of the control.
    held
        Whether the plant stands still, as if held by hand.
    times, states, controls
        Times [s] and states after each step, since the last :meth:`forget`, and the controls that
        were in force before.
    events
        Events since then.

    """

    def __init__(
        self,
        system: RollingSystem,
        p: ArrayLike,
        sensors: Sequence[Sensor] = (),
        actuators: Sequence[Actuator] = (),
        *,
        limits: ArrayLike | None = None,
        seed: int = 0,
    ) -> None:
        """
        Compile the plant and its sensors.

        Parameters
        ----------
        system, p
            The plant.
        sensors, actuators
            Its instruments; controls without an actuator take effect at once.
        limits
            Maximum magnitude of each control beside those of the actuators, shape
            (control.size,), in their units; None for no limit.
        seed
            Random seed of the noise.

        Raises
        ------
        ParameterError
            A sensor or an actuator does not fit the system.

        """
        self.system, self.p = system, np.array(p, dtype=float)
        self._plant = Stepper(system, self.p, max_step=LONGEST, through_modes=True)
        self._seed, self.instrumented = seed, bool(sensors or actuators)
        self._sensors = [_RunningSensor(s, system) for s in sensors]
        # exposures, and who judges a measured motion, look back at short steps
        self._longest = LONGEST if sensors else math.inf
        self._dead_time = np.zeros(system.control.size)
        self._limits = np.full(system.control.size, np.inf)
        if limits is not None:
            self._limits[:] = limits
        for actuator in actuators:
            actuator.check(system)
            where = system.control.slice(actuator.control)
            self._dead_time[where] = actuator.dead_time
            self._limits[where] = np.minimum(self._limits[where], actuator.limits)
        times = np.unique(self._dead_time).tolist()
        self._dead_times = [(t, self._dead_time == t) for t in times]
        self._delayed = any(times)

    def restart(self, x: ArrayLike, u: ArrayLike, p: ArrayLike | None = None) -> None:
        """
        Restart at time zero, with the first measurements.

        Parameters
        ----------
        x, u
            State and control, in the units of their layouts.
        p
            Parameters from now on, shape (parameters.size,); None: those in force.

        Raises
        ------
        ParameterError
            x is not a state of the system.
        SimulationError
            The motion ends where it starts; nothing has changed.

        """
        u, before = self._checked(u), self.p
        self.p = self._plant.p = before if p is None else np.array(p, dtype=float)
        try:
            state = self._plant.start(x, u)
            if state.ended is not None:
                raise SimulationError(
                    f'no motion starts here: {state.ended.name}: {state.ended.text}'
                )
        except RollingError:
            self.p = self._plant.p = before
            raise
        self.u, self.newest = self._limited(u), u
        self.state, self.held, self.time = state, False, 0.0
        self._sent: list[tuple[float, Array, Array]] = []  # time, which controls, their values
        self._coming: list[Measurement] = []
        for k, sensor in enumerate(self._sensors):
            sensor.restart(np.random.default_rng([self._seed, 1 + k]))
        self.times, self.states, self.controls = [0.0], [self.state], [self.u]
        self.events: list[Event] = []

    def put(self, x: ArrayLike) -> None:
        """Put the plant into a state x, as by hand; commands and time go on."""
        self.state = self._plant.begin(x, self.u, self.state.t)

    def send(self, u: ArrayLike, at: float) -> None:
        """
        Take a command that is sent at a time.

        Parameters
        ----------
        u
            Command, shape (control.size,), in the units of the control; limits apply.
        at
            Time [s].

        Raises
        ------
        ParameterError
            u has another size, or is not finite.

        """
        self.newest = self._checked(u)
        value = self._limited(self.newest)
        if not self._delayed and at <= self.state.t + SAME_TIME:
            self.u = value
            return
        for dead_time, which in self._dead_times:
            self._sent.append((at + dead_time, which, value))
        self._sent.sort(key=lambda sent: sent[0])

    def step(self, u: ArrayLike, dt: float) -> list[Measurement]:
        """
        Send a command now, unless it is the newest already, and advance.

        Parameters
        ----------
        u
            Command, shape (control.size,), in the units of the control.
        dt
            Duration [s].

        Returns
        -------
        list of Measurement
            What is known by then and was not before, oldest first.

        """
        given = np.asarray(u, dtype=float)
        if given.shape != self.newest.shape or (given != self.newest).any():
            self.send(given, self.time)
        return self.advance(self.time + dt)

    def _limited(self, u: Array) -> Array:
        return np.asarray(np.minimum(np.maximum(u, -self._limits), self._limits))

    def _checked(self, u: ArrayLike) -> Array:
        u, size = np.array(u, dtype=float), self.system.control.size
        if u.shape != (size,) or not math.isfinite(sum(u.tolist())):
            raise ParameterError(f'a control takes {size} finite numbers, got {u.tolist()}')
        return u

    def advance(self, until: float) -> list[Measurement]:
        """Step to a time [s]; return the measurements that are known by then, oldest first."""
        self.time = until
        if not self._sensors:
            self._step(until)
            return []
        while True:
            sensor = min(self._sensors, key=lambda s: s.next)
            if sensor.next > until + SAME_TIME:
                break
            self._step(sensor.next)
            self._coming.append(sensor.take(self))
        self._step(until)
        known = [m for m in self._coming if m.arrival <= until + SAME_TIME]
        self._coming = [m for m in self._coming if m.arrival > until + SAME_TIME]
        return sorted(known, key=lambda m: m.arrival)

    def forget(self) -> None:
        """Drop the past motion but what exposures under way need."""
        longest = max((s.sensor.exposure for s in self._sensors), default=0.0)
        k = bisect_left(self.times, self.state.t - longest - LONGEST)
        del self.times[:k], self.states[:k], self.controls[:k]
        self.events = []

    def _step(self, until: float) -> None:
        while self.state.t < until - SAME_TIME and self.state.ended is None:
            while self._sent and self._sent[0][0] <= self.state.t + SAME_TIME:
                _, which, value = self._sent.pop(0)
                self.u = np.where(which, value, self.u)
            end = min(until, self.state.t + self._longest)
            if self._sent:
                end = min(end, self._sent[0][0])
            if self.held:
                self.state = replace(self.state, t=end)
            else:
                self.state = self._moved(end)
                self.events += self.state.events
            self.times.append(self.state.t)
            self.states.append(self.state)
            self.controls.append(self.u)

    def _moved(self, end: float) -> MotionState:
        """Return the state at a time [s]; motion without a finite state ends."""
        try:
            return self._plant.step(self.state, self.u, end - self.state.t)
        except SimulationError as error:
            return self.state.noted(NO_STATE, str(error), ends=True)

    def past(self, since: float) -> list[tuple[MotionState, Array]]:
        """Return states and controls from a time [s] on, the newest at least."""
        k = min(bisect_left(self.times, since - SAME_TIME), len(self.times) - 1)
        return list(zip(self.states[k:], self.controls[k:], strict=True))


class _RunningSensor:
    """A sensor with its noise; ``next`` is when it measures next [s]."""

    def __init__(self, sensor: Sensor, system: RollingSystem) -> None:
        self.sensor = sensor
        functions = (sensor.function(system, mode) for mode in system.modes)
        made = (FastFunction(compiled(f)[0]) for f in functions)
        self._functions = dict(zip(system.modes, made, strict=True))
        values, vectors = np.linalg.eigh(sensor.covariance)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self._root = root[:, root.any(axis=0)]  # what has no noise draws no number

    def restart(self, rng: np.random.Generator) -> None:
        self._rng, self._count = rng, 0
        self.next = 0.0

    def take(self, plant: Emulation) -> Measurement:
        sensor, stamp = self.sensor, self.next
        past = plant.past(stamp - sensor.exposure)
        outputs = np.array([self._functions[s.mode](s.x, u, s.t, s.p) for s, u in past])
        times = np.array([s.t for s, _ in past])
        span = times[-1] - times[0]
        value = np.trapezoid(outputs, times, axis=0) / span if span > 0 else outputs[-1]
        value = value + self._root @ self._rng.normal(size=self._root.shape[1])
        if self._rng.random() < sensor.loss or plant.state.ended is not None:
            value = np.full_like(value, np.nan)
        self._count += 1
        self.next = self._count / sensor.rate
        return Measurement(sensor, stamp, stamp + sensor.delay, value)


ROLLING, SLIPPING, SEPARATED, STOPPED = 'rolling', 'slipping', 'separated', 'stopped'
# Contact after a guard, or a mode that the system leaves out, ended the motion.
ENDED = dict.fromkeys(('friction', 'spin', 'slip', SLIPPING), SLIPPING)
ENDED |= dict.fromkeys(('normal_force', SEPARATED), SEPARATED)
Seen = TypeVar('Seen')


class EmulatedMachine(ABC, Generic[Seen]):
    """
    A machine that is stepped in real time. Not for use from two threads at once.

    Attributes
    ----------
    emulation
        Its plant, sensors and actuators.
    start
        State that :meth:`reset` returns to, of the system in which starts are given.

    """

    def __init__(
        self,
        emulation: Emulation,
        system: RollingSystem,
        start: ArrayLike,
        shift: ArrayLike,
        turn: ArrayLike,
    ) -> None:
        """
        Keep where it starts.

        Parameters
        ----------
        emulation
            Plant, sensors and actuators.
        system, start
            System in which starts are given, and its state at the start.
        shift, turn
            Tangent vectors of that system that move it along x and y, shape (tangent.size, 2),
            and turn it about its own axes, shape (tangent.size, 3).

        """
        self.emulation, self.start = emulation, np.array(start, dtype=float)
        self._starts, self._retract = system, system.retract
        self._moves = (np.asarray(shift), 'shifted along'), (np.asarray(turn), 'turned about')
        self._measured: list[Measurement] = []
        self._news: list[str] = []

    # -- what a subclass fills in -----------------------------------------------------------

    @abstractmethod
    def brake(self) -> Array:
        """Return the control that brings it to rest."""

    @abstractmethod
    def _restart(self, x: Array) -> None:
        """Restart the emulation at a state of the system in which starts are given."""

    @abstractmethod
    def _look(self, dt: float) -> Seen:
        """Observe the emulation after a step of a duration [s]."""

    def _frees(self, u: Array) -> bool:
        """Return whether a command lets go of a machine that is held."""
        return not np.array_equal(u, self.emulation.newest)

    # -- placing ----------------------------------------------------------------------------

    def reset(self, *, position: ArrayLike = (0, 0), rotation: ArrayLike = (0, 0, 0)) -> None:
        """
        Go back to the start, or near it.

        Parameters
        ----------
        position
            Shift along x and y [m], shape (2,).
        rotation
            Rotation about its own axes [rad], shape (3,).

        Raises
        ------
        ParameterError
            It cannot be moved so.
        SimulationError
            There is no contact at that place; nothing has changed.

        """
        d = np.zeros(self._starts.tangent.size)
        for (columns, what), given in zip(self._moves, (position, rotation), strict=True):
            values = np.asarray(given, dtype=float)
            fixed = np.flatnonzero(~columns.any(axis=0) & (values != 0.0))
            if fixed.size:
                raise ParameterError(
                    f'a {self._starts.name} with this state cannot be {what} {"xyz"[fixed[0]]}'
                )
            d += columns @ values
        self._restart(np.array(self._retract(self.start, d)).reshape(-1))
        self._measured, self._news = [], []
        self._tell()
        self._seen = self._look(0.0)

    # -- stepping ---------------------------------------------------------------------------

    def step(self, u: ArrayLike, dt: float) -> None:
        """
        Advance under a command; nothing moves once the motion has ended.

        Parameters
        ----------
        u
            Command, units of the control layout.
        dt
            Duration [s], positive.

        Raises
        ------
        ParameterError
            u has another size, or is not finite.

        """
        machine = self.emulation
        u = np.asarray(u, dtype=float)
        if machine.held and self._frees(u):
            machine.held = False
        self._measured += machine.step(u, dt)
        if machine.events:
            self._tell()
        machine.forget()
        self._seen = self._look(dt)

    def _tell(self) -> None:
        self._news += [f'{e.name} at {e.time:.4f} s: {e.text}' for e in self.emulation.events]

    # -- looking ----------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.emulation.time

    @property
    def fault(self) -> str:
        """Why nothing moves any more; empty while it does."""
        ended = self.emulation.state.ended
        return '' if ended is None else f'{ended.name}: {ended.text}'

    @property
    def contact_mode(self) -> str:
        """Mode as published; after an end ``slipping``, ``separated``, else ``stopped``."""
        state = self.emulation.state
        if state.ended is None:
            return state.published_mode
        return ENDED.get(state.ended.name, STOPPED)

    def observe(self) -> Seen:
        """Return the observation after the newest step."""
        return self._seen

    def read_measurements(self) -> list[Measurement]:
        """Return what the sensors measured since the last call, with times of the emulation."""
        measured, self._measured = self._measured, []
        return measured

    def read_news(self) -> list[str]:
        """Return the events since the last call, in words."""
        news, self._news = self._news, []
        return news
