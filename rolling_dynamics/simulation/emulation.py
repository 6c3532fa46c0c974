"""Emulated machines: a plant with its actuators and sensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
import math
from typing import Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import compiled, FastFunction
from rolling_dynamics.contract.instruments import Actuator, MotionExpressions, PlantDrive, Sensor
from rolling_dynamics.contract.rolling_system import Event, MotionState, RollingSystem
from rolling_dynamics.errors import ParameterError, RollingError, SimulationError
from rolling_dynamics.simulation.actuation import Actuation
from rolling_dynamics.simulation.sensing import Measurement, SAME_TIME, SensorStream
from rolling_dynamics.simulation.stepper import Stepper

LONGEST = 2e-3  # s, of a step of the plant
NANOSECONDS = 9  # digits of times, so that steps of a drive do not drift relative to sensors
NO_STATE = 'not_finite'  # event: the equations are no longer finite


class Emulation:
    """
    Plant, actuators and sensors, stepped forward in time; deterministic for a seed.

    Attributes
    ----------
    system, p
        The plant.
    state
        Its state with its mode; ``state.ended`` once a guard has ended the motion.
    instrumented
        Whether it has sensors or actuators.
    streams, drive
        Measurements of each sensor by its name; the drive, or None.
    time
        Time to which it was last advanced [s]; ``state.t`` stops where the motion has ended.
    u, newest
        Control in force, and the last command, in the units of the control.
    held
        Whether the plant is held still, as by hand.
    times, states, controls
        Times [s] and states after each step since the last :meth:`forget`, and the controls in
        force before each.
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
        drive: PlantDrive | None = None,
        limits: ArrayLike | None = None,
        seed: int | Sequence[int] = 0,
    ) -> None:
        """
        Compile the plant and its sensors.

        Parameters
        ----------
        system, p
            The plant.
        sensors, actuators
            Its instruments; controls without an actuator take effect at once.
        drive
            Drive for all controls, if it has a state and a load from the plant.
        limits
            Maximum magnitude of each control in addition to the actuators' limits, shape
            (control.size,), in their units; None for no limit.
        seed
            Random seed of the noise, or one for each sensor.

        Raises
        ------
        ParameterError
            A sensor or an actuator does not fit the system.

        """
        self.system, self.p = system, np.array(p, dtype=float)
        self._plant = Stepper(system, self.p, max_step=LONGEST, through_modes=True)
        self.instrumented, self.drive = bool(sensors or actuators), drive
        self.time = 0.0
        self.times: list[float] = []
        self.states: list[MotionState] = []
        self.controls: list[Array] = []
        self._drives: list[tuple[Array, ...]] = []  # state of the drive, if there is one
        self.events: list[Event] = []
        seeds: Sequence[int | Sequence[int]] = (
            [(seed, 1 + k) for k in range(len(sensors))] if isinstance(seed, int) else seed
        )
        self.streams = {
            s.name: SensorStream(s, one) for s, one in zip(sensors, seeds, strict=True)
        }
        state = None if drive is None else drive.state
        self._outputs = {
            s.name: _per_mode(system, [s.function(system, m, state) for m in system.modes])
            for s in sensors
        }
        # exposures, and users that evaluate a measured motion, look back at short steps
        self._longest = LONGEST if sensors else math.inf
        if drive is not None:
            self._longest = drive.period
            loads = [_load(system, mode, drive) for mode in system.modes]
            self._loads = _per_mode(system, loads)
            names = system.state.names
            carried = [(names.index(n), k) for k, n in enumerate(drive.carried) if n in names]
            self._carried = tuple(np.array(carried, dtype=int).T)
        self._actuation = Actuation(system, actuators, limits)
        if self._actuation.slews:
            self._longest = min(self._longest, LONGEST)

    def restart(self, x: ArrayLike, u: ArrayLike, p: ArrayLike | None = None) -> None:
        """
        Restart at time zero, with the first measurements.

        Parameters
        ----------
        x, u
            State and control, in the units of their layouts.
        p
            New parameters, shape (parameters.size,); the present ones if None.

        Raises
        ------
        ParameterError
            x is not a state of the system.
        SimulationError
            The motion ends immediately; the emulation is unchanged.

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
        self._actuation.restart(u)
        self.u, self.newest = self._actuation.u, u
        self.state, self.held = state, False
        self._coming: list[Measurement] = []
        for stream in self.streams.values():
            stream.restart(self.time)
        self.time, self.events = 0.0, []
        if self.drive is not None:
            self.drive.restart()
        self._driven = 0.0
        self.times.clear()
        self.states.clear()
        self.controls.clear()
        self._drives.clear()
        self._keep(0.0)

    def put(self, x: ArrayLike) -> None:
        """Put the plant into a state x, as by hand; commands and time continue."""
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
        due = at <= self.state.t + SAME_TIME
        self._actuation.send(self.newest, at, due=due)
        if due and self._actuation.plain:
            self.u = self._actuation.u

    def step(self, u: ArrayLike, dt: float) -> list[Measurement]:
        """
        Send a command, unless it equals the latest one, and advance.

        Parameters
        ----------
        u
            Command, shape (control.size,), in the units of the control.
        dt
            Duration [s].

        Returns
        -------
        list of Measurement
            Measurements that arrive in this time, oldest first.

        """
        given = np.asarray(u, dtype=float)
        if given.shape != self.newest.shape or (given != self.newest).any():
            self.send(given, self.time)
        return self.advance(self.time + dt)

    def _checked(self, u: ArrayLike) -> Array:
        u, size = np.array(u, dtype=float), self.system.control.size
        if u.shape != (size,) or not math.isfinite(sum(u.tolist())):
            raise ParameterError(f'a control takes {size} finite numbers, got {u.tolist()}')
        return u

    def advance(self, until: float) -> list[Measurement]:
        """Step to a time [s]; return the measurements that have arrived, oldest first."""
        self.time, streams = until, self.streams.values()
        self._drive_to(until)
        while streams:
            stream = min(streams, key=lambda s: s.next)
            if stream.next > until + SAME_TIME:
                break
            self._step(stream.next)
            self._coming += self._taken(stream)
        self._step(until)
        known = [m for m in self._coming if m.arrival <= until + SAME_TIME]
        self._coming = [m for m in self._coming if m.arrival > until + SAME_TIME]
        return sorted(known, key=lambda m: m.arrival)

    def _taken(self, stream: SensorStream) -> list[Measurement]:
        """Return the next measurement of a sensor, unless it is lost."""
        k = self._before(stream.next - stream.sensor.exposure)
        functions, drives = self._outputs[stream.sensor.name], self._drives[k:]
        past = zip(self.states[k:], self.controls[k:], drives, strict=True)
        outputs = [functions[s.mode](s.x, u, s.t, s.p, *d) for s, u, d in past]
        blind = self.state.ended is not None
        taken = stream.take(self.times[k:], outputs, blind=blind)
        return [] if taken is None else [taken]

    def forget(self) -> None:
        """Drop the past motion, except what pending measurements need."""
        streams, last = self.streams.values(), self.times[-1]
        since = min((s.next - s.sensor.exposure for s in streams), default=last)
        k = self._before(min(since, last) - LONGEST)
        del self.times[:k], self.states[:k], self.controls[:k], self._drives[:k]
        self.events = []

    def _keep(self, time: float) -> None:
        """Record the present state."""
        self.times.append(time)
        self.states.append(self.state)
        self.controls.append(self.u)
        self._drives.append(() if self.drive is None else (self.drive.values,))

    def _step(self, until: float) -> None:
        if self.drive is not None:
            return
        while self.state.t < until - SAME_TIME and self.state.ended is None:
            end = min(until, self.state.t + self._longest, self._actuation.take(self.state.t))
            self.u = self._actuation.turn(end - self.state.t)
            self._move(end)
            self._keep(self.state.t)

    def _drive_to(self, until: float) -> None:
        """Step the drive, and move the plant by its output, unless the motion has ended."""
        drive = self.drive
        if drive is None:
            return
        while self._driven < until - SAME_TIME:
            left = until - self._driven
            dt = drive.period if left > drive.period - SAME_TIME else left
            self.u = drive.turn(self.load(), self._driven, dt)
            self._driven += dt
            if self.state.ended is None:
                self._move(self.state.t + dt)
            self._carry(drive)
            self._keep(self._driven)

    def load(self) -> Array:
        """Return the load of the drive, shape (loads,) in its units; zero after an end."""
        s = self.state
        load = self._loads[s.mode](s.x, self.u, s.t, s.p)
        return load if s.ended is None else np.zeros_like(load)

    def _carry(self, drive: PlantDrive) -> None:
        """Set the states that the drive moves to the drive's values."""
        x, (where, which) = self.state.x.copy(), self._carried
        x[where] = drive.carry()[which]
        self.state = replace(self.state, x=x)

    def _move(self, end: float) -> None:
        """Move the plant to a time [s]; a motion that is not finite ends."""
        if self.held:
            self.state = replace(self.state, t=end)
            return
        try:
            self.state = self._plant.step(self.state, self.u, end - self.state.t)
        except SimulationError as error:
            self.state = self.state.noted(NO_STATE, str(error), ends=True)
        self.events += self.state.events

    def _before(self, since: float) -> int:
        """Return the index of the last record at a time [s] or before; the first if none is."""
        return max(bisect_right(self.times, since + SAME_TIME) - 1, 0)


def _per_mode(system: RollingSystem, functions: Sequence[ca.Function]) -> dict[str, FastFunction]:
    """Return functions, one for each mode in order, compiled, by the name of the mode."""
    pairs = zip(system.modes, compiled(*functions), strict=True)
    return {mode: FastFunction(f) for mode, f in pairs}


def _load(system: RollingSystem, mode: str, drive: PlantDrive) -> ca.Function:
    at = MotionExpressions.of(system, mode)
    return ca.Function(f'load_{mode}', [*at.symbols], [ca.densify(drive.load(at))])


ROLLING, SLIPPING, SEPARATED, STOPPED = 'rolling', 'slipping', 'separated', 'stopped'
# Contact after the motion was ended by a guard or by an omitted mode.
ENDED = dict.fromkeys(('friction', 'spin', 'slip', SLIPPING), SLIPPING)
ENDED |= dict.fromkeys(('normal_force', SEPARATED), SEPARATED)
Observed = TypeVar('Observed')


class EmulatedMachine(ABC, Generic[Observed]):
    """
    A machine that is stepped in real time. Not for use from two threads at once.

    Attributes
    ----------
    emulation
        Its plant, sensors and actuators.
    start
        State of :meth:`reset`, of the system in which starts are given.
    events
        Names of the events of the last step.

    """

    events: tuple[str, ...] = ()

    def __init__(
        self,
        emulation: Emulation,
        system: RollingSystem,
        start: ArrayLike,
        shift: ArrayLike,
        turn: ArrayLike,
    ) -> None:
        """
        Set its start.

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

    # -- for subclasses to implement --------------------------------------------------------

    @abstractmethod
    def brake(self) -> Array | None:
        """Return the control that brings it to rest; None if a drive does that."""

    @abstractmethod
    def _restart(self, x: Array) -> None:
        """Restart the emulation at a state of the system in which starts are given."""

    @abstractmethod
    def _look(self, dt: float) -> Observed:
        """Observe the emulation after a step of a duration [s]."""

    def _frees(self, u: Array) -> bool:
        """Return whether a command releases a machine that is held."""
        return not np.array_equal(u, self.emulation.newest)

    # -- placing ----------------------------------------------------------------------------

    def reset(self, *, position: ArrayLike = (0, 0), rotation: ArrayLike = (0, 0, 0)) -> None:
        """
        Return to the start, or near it.

        Parameters
        ----------
        position
            Shift along x and y [m], shape (2,).
        rotation
            Rotation about its own axes [rad], shape (3,).

        Raises
        ------
        ParameterError
            It cannot be moved like this.
        SimulationError
            There is no contact at that position; the machine is unchanged.

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
        self._measured, self._news, self.events = self.emulation.advance(0.0), [], ()
        self._report()
        self._observed = self._look(0.0)

    # -- stepping ---------------------------------------------------------------------------

    def step(self, u: ArrayLike | None, dt: float) -> None:
        """
        Advance under a command; nothing moves after the motion has ended.

        Parameters
        ----------
        u
            Command, units of the control layout; None if its drive has the command.
        dt
            Duration [s], positive.

        Raises
        ------
        ParameterError
            u has another size, or is not finite.

        """
        machine = self.emulation
        if u is None:
            self._measured += machine.advance(round(machine.time + dt, NANOSECONDS))
        else:
            u = np.asarray(u, dtype=float)
            if machine.held and self._frees(u):
                machine.held = False
            self._measured += machine.step(u, dt)
        self.events = tuple(e.name for e in machine.events)
        if machine.events:
            self._report()
        machine.forget()
        self._observed = self._look(dt)

    def _report(self) -> None:
        self._news += [f'{e.name} at {e.time:.4f} s: {e.text}' for e in self.emulation.events]

    # -- observing --------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Time since the start [s]."""
        return self.emulation.time

    @property
    def fault(self) -> str:
        """Reason for the end of the motion; empty while it continues."""
        ended = self.emulation.state.ended
        return '' if ended is None else f'{ended.name}: {ended.text}'

    @property
    def contact_mode(self) -> str:
        """Published mode; after an end ``slipping``, ``separated``, else ``stopped``."""
        state = self.emulation.state
        if state.ended is None:
            return state.published_mode
        name = state.ended.name  # each of several contacts has its own, such as friction_left
        return next(
            (mode for of, mode in ENDED.items() if f'{name}_'.startswith(f'{of}_')), STOPPED
        )

    def observe(self) -> Observed:
        """Return the observation after the latest step."""
        return self._observed

    def read_measurements(self) -> list[Measurement]:
        """Return the measurements since the last call, with times of the emulation."""
        measured, self._measured = self._measured, []
        return measured

    def read_news(self) -> list[str]:
        """Return descriptions of the events since the last call."""
        news, self._news = self._news, []
        return news
