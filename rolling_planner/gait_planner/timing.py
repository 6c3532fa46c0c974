"""
Speeds along a polyline driven by one swing at each corner, in the shortest time.

A swing that begins at V_before and ends at V_after covers T (V_before + V_after) / 2, as if it
were a corner passed at T / 2; so a leg of length L at speed V between swings of T_0 and T_1 needs
V (T_0 + T_1) / 2 <= L, and takes L / V.
"""

from __future__ import annotations

import math

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.parameters import scales_of, SphereParameters

STARTS = (1.0, 0.7, 0.5)  # shares of the greatest common speed
FACTORS = (1.5, 1.2, 1.06, 1.02, 0.98, 0.9)
SWEEPS = 60


class PeriodTable:
    """Least period of a swing for a change of speed, within limits."""

    def __init__(self, params: SphereParameters, limits: GaitLimits, size: int = 40) -> None:
        """Tabulate between 3 and 40 of the paper's units of time."""
        self.periods = scales_of(params).time * np.geomspace(3, 40, size)
        most = [greatest_change(params, float(T), limits, 160) for T in self.periods]
        self.changes = np.maximum.accumulate(most)
        if not self.changes[-1] > 0:
            raise PlanningError(
                'no swing is possible within the limits: at least more torque or friction is '
                f'needed (friction {limits.friction}, torque {limits.torque:.4g} N m after the '
                'reserve)'
            )

    def least(self, change: float) -> float:
        """Return the least period [s]; inf if none reaches the change [m/s]."""
        if change >= self.changes[-1]:
            return math.inf
        # a little more than asked: between two periods the table is a straight line
        return float(np.interp(1.02 * change, self.changes, self.periods))


class Timing:
    """Speeds of the legs and periods of the swings, improved leg by leg."""

    def __init__(
        self, points: Array, table: PeriodTable, max_speed: float, stretch: Array
    ) -> None:
        """
        Set the problem.

        Parameters
        ----------
        points
            Corners from start to goal, shape (n + 1, 2).
        table
            Least periods.
        max_speed
            Of every leg [m/s].
        stretch
            Factors of the least periods, shape (n + 1,).

        """
        legs = np.diff(points, axis=0)
        self.lengths = np.hypot(*legs.T)
        self.directions = legs / self.lengths[:, None]
        self.table, self.max_speed, self.stretch = table, max_speed, stretch
        self.speeds = np.zeros(len(legs))

    def velocity(self, k: int) -> Array:
        """
        Return the velocity on a leg [m/s], shape (2,).

        Zero before the first and after the last.
        """
        if not 0 <= k < len(self.speeds):
            return np.zeros(2)
        return np.array(self.speeds[k] * self.directions[k])

    def period(self, k: int) -> float:
        """Return the least period of the swing at a corner."""
        change = float(np.hypot(*(self.velocity(k) - self.velocity(k - 1))))
        return float(self.stretch[k] * self.table.least(change))

    def periods(self) -> Array:
        """Return the periods of all swings [s], shape (legs + 1,)."""
        return np.array([self.period(k) for k in range(len(self.speeds) + 1)])

    def duration(self) -> float:
        """Return the time from rest to rest [s]."""
        T = self.periods()
        return float((self.lengths / self.speeds).sum() + (T[0] + T[-1]) / 2)

    def solve(self) -> bool:
        """Find speeds; tell whether there are any."""
        top = min(self.max_speed, float(self.table.changes[-1]))
        last = len(self.speeds) - 1
        for v in top * np.geomspace(1, 1e-3, 40):
            self.speeds[:] = v
            if self._holds(range(last + 1)):
                break
        else:
            return False
        best, least = self.speeds.copy(), math.inf
        for share in STARTS:  # the descent below finds a local minimum
            self.speeds[:] = v * share
            for _ in range(SWEEPS):
                improved = [
                    self._improve(slice(k, k + n)) for n in (1, 2) for k in range(last + 2 - n)
                ]
                if not any(improved):
                    break
            if self.duration() < least:
                best, least = self.speeds.copy(), self.duration()
        self.speeds = best
        return True

    def settle(self, speeds: Array) -> bool:
        """
        Keep given speeds [m/s], shape (legs,), lowered where they do not hold.

        Tell whether that succeeds.
        """
        self.speeds[:] = speeds
        for _ in range(SWEEPS):
            bad = [k for k in range(len(self.speeds)) if not self._holds(range(k, k + 1))]
            if not bad:
                return True
            self.speeds[bad] *= 0.97
        return False

    def _improve(self, legs: slice) -> bool:
        """Try other speeds on neighbouring legs; keep the first that holds and saves time."""
        old, before = self.speeds[legs].copy(), self._local_time(legs)
        near = range(max(legs.start - 1, 0), min(legs.stop + 1, len(self.speeds)))
        for factor in FACTORS:
            self.speeds[legs] = np.minimum(old * factor, self.max_speed)
            if self._local_time(legs) < before - 1e-9 and self._holds(near):
                return True
        self.speeds[legs] = old
        return False

    def _local_time(self, legs: slice) -> float:
        time = float((self.lengths[legs] / self.speeds[legs]).sum())
        if legs.start == 0:
            time += self.period(0) / 2
        if legs.stop == len(self.speeds):
            time += self.period(legs.stop) / 2
        return time

    def _holds(self, legs: range) -> bool:
        return all(
            self.speeds[k] * (self.period(k) + self.period(k + 1)) / 2 <= self.lengths[k]
            for k in legs
        )
