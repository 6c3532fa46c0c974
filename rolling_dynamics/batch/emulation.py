"""Emulation of many machines: a batch with its actuators and sensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
import math

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch.kernels import VectorFunction
from rolling_dynamics.batch.simulator import BatchSimulator
from rolling_dynamics.contract.instruments import Actuator, Sensor
from rolling_dynamics.contract.rolling_system import Symbols
from rolling_dynamics.simulation.actuation import Actuation
from rolling_dynamics.simulation.sensing import SAME_TIME, SensorStream


class EmulatedBatch:
    """
    A batch with actuators and sensors; each trajectory is stepped like an :class:`.Emulation`.

    Commands take effect, and measurements arrive, at steps of the batch. Between two steps,
    measured values are interpolated linearly.

    Attributes
    ----------
    batch
        The trajectories.
    sensors
        Sensor name -> sensor and the columns of its measurement.
    values
        Latest available measurements, the sensors concatenated, shape (size, n), in their units. A
        missing component keeps its last value; initially it is the value at the start.

    """

    def __init__(
        self,
        batch: BatchSimulator,
        sensors: Sequence[Sensor] = (),
        actuators: Sequence[Actuator] = (),
        *,
        limits: ArrayLike | None = None,
    ) -> None:
        """
        Connect a batch to its instruments; see :class:`.Emulation`.

        Raises
        ------
        ParameterError
            A sensor or an actuator does not fit the system.

        """
        self.batch, system = batch, batch.system
        self._actuation = Actuation(system, actuators, limits, (batch.size,))
        ends = np.cumsum([0, *(s.output.size for s in sensors)]).tolist()
        where = map(slice, ends[:-1], ends[1:])
        self.sensors = {s.name: (s, w) for s, w in zip(sensors, where, strict=True)}
        self.values = np.zeros((batch.size, ends[-1]))
        self._steps = np.zeros(batch.size, dtype=int)
        kept = 2 + math.ceil(max((s.exposure for s in sensors), default=0.0) / batch.dt)
        self._before = batch.dt * np.arange(1 - kept, 1)
        self._past: deque[Array] = deque(maxlen=kept)  # measurements without noise
        self._streams: dict[int, list[SensorStream]] = {}
        self._next = np.full((len(sensors), batch.size), np.inf)
        # columns, arrival times and values of measurements in transit
        self._coming: list[tuple[slice, Array, Array]] = []

        @cache
        def outputs(mode: str) -> VectorFunction:
            s = Symbols.of(system.state, system.control, system.parameters)
            given = [s.x, s.u, s.t, s.p]
            measured = ca.vertcat(*(sensor.function(system, mode)(*given) for sensor in sensors))
            function = ca.Function('measured', given, [ca.densify(ca.cse(measured))])
            return VectorFunction(function, batch.size)

        self._outputs = outputs

    def restart(
        self, seeds: Sequence[ArrayLike], which: ArrayLike | None = None, u: ArrayLike = 0.0
    ) -> None:
        """
        Start from the states of the batch, with the first measurements.

        Parameters
        ----------
        seeds
            Random seed of each trajectory; the seed of its sensor k is made of this and 1 + k.
        which
            Trajectories to start, shape (size,); all if None. The others continue.
        u
            Controls in force, shape (control.size,) or (size, control.size).

        """
        here = np.ones(self.batch.size, dtype=bool) if which is None else np.asarray(which)
        self._actuation.restart(u, here)
        self._steps[here] = 0
        if not self.sensors:
            return
        for _, arrival, _ in self._coming:
            arrival[here] = np.inf
        now = self._noiseless()
        self._past.extend(now.copy() for _ in range(len(self._before) - len(self._past)))
        for past in (*self._past, self.values):
            past[here] = now[here]
        for k in np.flatnonzero(here).tolist():
            self._streams[k] = [
                SensorStream(s, [*np.atleast_1d(seeds[k]).tolist(), 1 + j])
                for j, (s, _) in enumerate(self.sensors.values())
            ]
            self._next[:, k] = [stream.next for stream in self._streams[k]]
        self._measure()

    def step(self, u: ArrayLike, steps: int = 1) -> Array:
        """
        Send commands now, and step the batch.

        Parameters
        ----------
        u
            Shape (control.size,) or (size, control.size), in the units of the control.
        steps
            Number of steps, each of ``batch.dt``.

        Returns
        -------
        Array
            Controls in force, shape (steps, size, control.size), in their units.

        """
        self._actuation.send(u, self._steps * self.batch.dt, due=True)
        controls = np.empty((steps, *self._actuation.u.shape))
        for k in range(steps):
            self._actuation.take(self._steps * self.batch.dt)
            controls[k] = self._actuation.turn(self.batch.dt)
            self.batch.step(controls[k])
            self._steps += 1
            if self.sensors:
                self._past.append(self._noiseless())
                self._measure()
        return controls

    def _noiseless(self) -> Array:
        """Return the present measurements without noise, shape (size, n)."""
        b, out = self.batch, np.empty_like(self.values)
        modes = b.modes
        for mode in set(modes.tolist()):
            here = modes == mode
            y = self._outputs(mode)(b.states.T, self._actuation.u.T, b.times[None], b.parameters.T)
            out[here] = y.T[here]
        return out

    def _measure(self) -> None:
        """Take the measurements that are due, and deliver those that have arrived."""
        now, running = self._steps * self.batch.dt, self.batch.running
        past = np.array(self._past)
        for j, (_, where) in enumerate(self.sensors.values()):
            while (due := self._next[j] <= now + SAME_TIME).any():
                arrival = np.full(due.size, np.inf)
                value = np.full((due.size, where.stop - where.start), np.nan)
                for k in np.flatnonzero(due).tolist():
                    stream = self._streams[k][j]
                    times = (self._before + now[k]).tolist()
                    taken = stream.take(times, past[:, k, where], blind=not running[k])
                    if taken is not None:
                        arrival[k], value[k] = taken.arrival, taken.value
                    self._next[j, k] = stream.next
                self._coming.append((where, arrival, value))
        for where, arrival, value in self._coming:
            known = arrival <= now + SAME_TIME
            here = known[:, None] & np.isfinite(value)
            self.values[:, where] = np.where(here, value, self.values[:, where])
            arrival[known] = np.inf
        self._coming = [one for one in self._coming if np.isfinite(one[1]).any()]
