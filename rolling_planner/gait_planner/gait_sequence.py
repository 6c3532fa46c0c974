"""A planned manoeuvre: swings, rolling in straight lines between them, and rests."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rolling_dynamics.arrays import Array
from rolling_dynamics.pendulum_sphere import PendulumSphere, SphereParameters
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
            Samples a second [Hz].

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
