"""Measurements of a sensor on a moving plant, with all disturbances."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.instruments import Sensor, SensorClock
from rolling_dynamics.errors import ParameterError, suggestion

SAME_TIME = 1e-12  # s
FAULTS = (
    'none',
    'frozen',  # repeats the same value, with new stamps
    'off',  # no measurements
    'hidden',  # without readings
    'clock_jump',  # its clock restarts
    'messages_dropped',  # half of the measurements are lost
)


class Measurement(NamedTuple):
    """
    A measurement of a sensor.

    Attributes
    ----------
    sensor
        Its sensor.
    stamp, arrival
        Time at which it was taken, by the sensor's clock, and time of its arrival [s].
    value
        Values in the units of the sensor's layout; NaN without a reading.

    """

    sensor: Sensor
    stamp: float
    arrival: float
    value: Array


class SensorStream:
    """
    Sequence of measurements of a sensor; deterministic for a seed.

    Attributes
    ----------
    sensor
        The sensor.
    next
        Time of the next measurement [s].
    offset
        Time by which its clock is ahead of the host's at time zero [s].
    fault
        Fault in force, one of ``FAULTS``.

    """

    def __init__(self, sensor: Sensor, seed: int | Sequence[int]) -> None:
        """Take noise and draws from a random seed."""
        self.sensor, self._seed = sensor, seed
        values, vectors = np.linalg.eigh(sensor.covariance)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        self._root = root[:, root.any(axis=0)]  # no draws without noise
        self._where = [sensor.output.slice(e.name) for e in sensor.output.entries]
        s = sensor
        self._erratic = bool(s.jitter or s.blackout or s.hidden or s.swap or s.outlier)
        self.fault: str = 'none'
        self._frozen: Array | None = None
        self._begin()

    def _begin(self) -> None:
        s, self._rng = self.sensor, np.random.default_rng(self._seed)
        self._count, self._hidden, self._arrived = 0, False, -math.inf
        self._set_clock()
        self._first = s.exposure + self._rng.uniform() / s.rate if s.free_running else 0.0
        self._bias = s.bias * self._rng.normal(size=s.output.size) if s.bias else 0.0
        self.next = self._first

    def restart(self, elapsed: float) -> None:
        """Restart time, after some time [s]; a free-running sensor continues."""
        if not self.sensor.free_running:
            self._begin()
            return
        self._first, self.next = self._first - elapsed, self.next - elapsed
        self._arrived -= elapsed
        self.offset += self._drift * elapsed

    @property
    def _drift(self) -> float:
        return self.sensor.clock.drift if self.sensor.clock else 0.0

    def _set_clock(self) -> None:
        clock = self.sensor.clock or SensorClock()
        drawn = clock.spread * self._rng.uniform(-1.0, 1.0) if clock.spread else 0.0
        self.offset = clock.offset + drawn

    def inject(self, fault: str) -> None:
        """Start a fault, or end it by ``none``; raise ParameterError for an unknown one."""
        if fault not in FAULTS:
            raise ParameterError(
                f'sensor {self.sensor.name!r}: no fault {fault!r}{suggestion(fault, list(FAULTS))}'
            )
        self.fault, self._frozen = fault, None
        if fault == 'clock_jump':
            self._set_clock()

    def take(
        self, times: Sequence[float], outputs: Sequence[Array] | Array, *, blind: bool = False
    ) -> Measurement | None:
        """
        Take a measurement.

        Parameters
        ----------
        times
            Times [s] of the motion: ``next`` is among them or before the last.
        outputs
            Noiseless measurements at these times.
        blind
            Whether nothing can be measured any longer.

        Returns
        -------
        Measurement or None
            None if it is lost.

        """
        s, end = self.sensor, self.next
        self._count += 1
        self.next = self._first + self._count / s.rate
        chance = self._rng.uniform(size=6) if self._erratic else np.ones(6)
        value = mean_between(times, np.array(outputs), end - s.exposure, end)
        value = value + self._root @ self._rng.normal(size=self._root.shape[1]) + self._bias
        value = self._disturbed(value, chance)
        if blind or self._hidden or self.fault == 'hidden':
            value[:] = math.nan
        arrival = end + s.delay + (s.jitter * (2 * chance[2] - 1) if s.jitter else 0.0)
        self._arrived = arrival = max(arrival, self._arrived)
        if self.fault == 'frozen':
            self._frozen = value if self._frozen is None else self._frozen
            value = self._frozen.copy()
        if self.fault == 'messages_dropped' and not self._erratic:
            chance[5] = self._rng.uniform()
        if self.fault == 'off' or (self.fault == 'messages_dropped' and chance[5] < 0.5):
            return None
        return Measurement(s, end * (1.0 + self._drift) + self.offset, arrival, value)

    def _disturbed(self, value: Array, chance: Array) -> Array:
        """Return a measurement with exchanged, wrong and missing entries."""
        s, rng, where = self.sensor, self._rng, self._where
        missing = rng.uniform(size=len(where)) < s.hidden if s.hidden else ()
        if s.blackout:
            length = max(s.blackout * s.rate, 1.0)  # mean number of measurements
            # rate of starts of blackouts for the given fraction of time
            start = s.loss / (1 - s.loss) / length
            self._hidden = bool(chance[0] >= 1 / length if self._hidden else chance[0] < start)
        else:
            self._hidden = bool(rng.random() < s.loss)
        if chance[3] < s.swap:
            i, j = (where[k] for k in rng.choice(len(where), 2, replace=False))
            value[i], value[j] = value[j].copy(), value[i].copy()
        if chance[4] < s.outlier:
            away = rng.normal(size=max(at.stop - at.start for at in where))
            at = where[rng.integers(len(where))]
            away = away[: at.stop - at.start]
            value[at] += s.outlier_size * away / np.linalg.norm(away)
        for k in np.flatnonzero(missing):
            value[where[k]] = math.nan
        return value


def mean_between(times: Sequence[float], values: Array, start: float, end: float) -> Array:
    """
    Return the mean of values, linear between times, from a start to an end.

    Parameters
    ----------
    times, values
        Times [s], rising, and values, shape (k, n).
    start, end
        Times [s] between the first and the last; equal ones give the value there.

    """
    if len(times) == 1:
        return np.asarray(values[0])
    last = _at(times, values, end)
    if end - start < SAME_TIME:
        return last
    inside = slice(bisect_right(times, start + SAME_TIME), bisect_left(times, end - SAME_TIME))
    at = np.array([start, *times[inside], end])
    between = np.array([_at(times, values, start), *values[inside], last])
    return np.asarray(np.trapezoid(between, at, axis=0) / (end - start))


def _at(times: Sequence[float], values: Array, t: float) -> Array:
    """Return the values at a time [s], linear between times and constant beyond them."""
    k = bisect_right(times, t) - 1
    if not 0 <= k < len(times) - 1:
        return np.asarray(values[max(k, 0)])
    slope = (values[k + 1] - values[k]) / (times[k + 1] - times[k])
    return np.asarray(slope * (t - times[k]) + values[k])
