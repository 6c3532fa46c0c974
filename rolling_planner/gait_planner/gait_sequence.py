"""Sequences of gaits in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import PlanningError
from rolling_dynamics.pendulum_sphere import PendulumSphere, scales_of, SphereParameters
from rolling_dynamics.pendulum_sphere.gaits import GaitLimits, greatest_change
from rolling_dynamics.pendulum_sphere.spatial_swing import SpatialSwing
from rolling_dynamics.pendulum_sphere.system import attitude_of, STATE
from rolling_planner.plan import Plan


@dataclass(frozen=True, eq=False, kw_only=True)
class GaitStep:
    """
    One swing of a manoeuvre.

    Attributes
    ----------
    start
        Time at which it begins [s].
    swing
        The swing.
    position, velocity
        Contact point and its velocity at the start [m], [m/s].
    corner
        Where the straight lines before and after it meet [m].

    """

    start: float
    swing: SpatialSwing
    position: Array
    velocity: Array
    corner: Array

    @property
    def end(self) -> float:
        """Time at which it ends [s]."""
        return self.start + self.swing.period

    @property
    def velocity_after(self) -> Array:
        """Velocity at its end, shape (2,) [m/s]."""
        return np.array(self.velocity + self.swing.velocity_change)


@dataclass(frozen=True, eq=False, kw_only=True)
class Reference:
    """Where the manoeuvre should be at times: contact point, velocity, pendulum, torque, force."""

    position: Array
    velocity: Array
    n: Array
    omega: Array
    torque: Array
    force: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class GaitSequence:
    """
    A manoeuvre from rest to rest.

    Attributes
    ----------
    params
        The sphere.
    start
        Contact point at the start [m].
    steps
        Swings in order of time.
    duration
        Until the end of the last swing or rest [s].
    report
        How it was found and what it takes.

    """

    params: SphereParameters
    start: Array
    steps: tuple[GaitStep, ...]
    duration: float
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> float:
        """Length of the path [m]."""
        t = np.linspace(0, self.duration, 2001)
        return float(np.hypot(*np.diff(self.reference(t).position, axis=0).T).sum())

    @cached_property
    def _starts(self) -> Array:
        return np.array([s.start for s in self.steps])

    def reference(self, times: ArrayLike) -> Reference:
        """Return the planned motion at times, shape (k,) [s]; before and after it, a rest."""
        t = np.atleast_1d(np.asarray(times, dtype=float))
        owner = np.searchsorted(self._starts, t, side='right') - 1
        rest = SpatialSwing(params=self.params, direction=0.0, amplitude=0.0, period=1.0).at(0)
        position, velocity = np.tile(self.start, (t.size, 1)), np.zeros((t.size, 2))
        n, torque, force = (np.tile(v, (t.size, 1)) for v in (rest.n, rest.torque, rest.force))
        omega = np.zeros((t.size, 3))
        for k in np.unique(owner[owner >= 0]):
            step, here = self.steps[k], owner == k
            local = t[here] - step.start
            inside = np.minimum(local, step.swing.period)
            table = step.swing.at(local)
            velocity[here] = step.velocity + step.swing.velocity_gain(inside)
            position[here] = (
                step.position
                + inside[:, None] * step.velocity
                + step.swing.displacement_gain(inside)
                + (local - inside)[:, None] * step.velocity_after
            )
            n[here], omega[here] = table.n, table.omega
            torque[here], force[here] = table.torque, table.force
        return Reference(
            position=position, velocity=velocity, n=n, omega=omega, torque=torque, force=force
        )

    def to_plan(self, rate: float = 500.0) -> Plan:
        """
        Return states and torques over time as the suite's plan; torques jump where swings begin.

        Parameters
        ----------
        rate
            Samples per second [Hz].

        """
        jump = 1e-7
        edges = np.array([[s.start, s.end] for s in self.steps]).ravel()
        grid = np.arange(0, self.duration, 1 / rate)
        end = [self.duration]
        times = np.unique(np.concatenate([grid, edges, edges - jump, edges + jump, end]))
        times = times[(times >= 0) & (times <= self.duration)]
        times = times[np.append(True, np.diff(times) > jump / 4)]
        ref = self.reference(times)
        R = self.params.shell_radius
        states = np.array(
            [
                STATE.pack(
                    contact=r, q_WP=attitude_of(n), w_WS_W=[-v[1] / R, v[0] / R, 0], w_WP_W=w
                )
                for r, v, n, w in zip(ref.position, ref.velocity, ref.n, ref.omega, strict=True)
            ]
        )
        return Plan.of(
            PendulumSphere(),
            times=times,
            states=states,
            controls=ref.torque,
            contact_wrenches=np.hstack([np.zeros((len(times), 3)), ref.force]),
            report=dict(self.report),
        )

    def effort(self, rate: float = 500.0) -> dict[str, float]:
        """Return time, energy of the drive, peak torque, friction and least normal force."""
        t = np.linspace(0, self.duration, max(2, round(self.duration * rate)))
        ref = self.reference(t)
        R = self.params.shell_radius
        Omega = np.column_stack([-ref.velocity[:, 1], ref.velocity[:, 0], 0 * t]) / R
        power = np.abs((ref.torque * (ref.omega - Omega)).sum(axis=1))
        N = ref.force[:, 2]
        return {
            'time': self.duration,
            'energy': float(np.trapezoid(power, t)),
            'peak_torque': float(np.linalg.norm(ref.torque, axis=1).max()),
            'friction': float((np.linalg.norm(ref.force[:, :2], axis=1) / N).max()),
            'least_normal_force': float(N.min()),
        }


STARTS = (1.0, 0.7, 0.5)  # fractions of the greatest common speed
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
        """Find speeds; return whether there are any."""
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

        Return whether that succeeds.
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
