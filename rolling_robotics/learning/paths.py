"""Robots with something moving inside, which follow a target along a path."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_robotics.learning.task import (
    circling,
    Lanes,
    less_effort,
    near,
    Observed,
    one_sided,
    Task,
    Verdict,
)


class PendulumSphere(Task):
    """
    A sphere with a pendulum inside follows a target round a circle of 1 m at 0.3 m/s.

    Actions are the torque between shell and pendulum along the axes of W, in 0.6 N m. The reward
    is near 1 at the target and 0.24 at 0.2 m. An episode ends where the shell slips or leaves the
    floor. Success is 50 mm.
    """

    described = 'pendulum_compare'
    dt, max_step, steps = 0.05, 5e-3, 300
    actions: ClassVar = {'tau_W_x': 0.6, 'tau_W_y': 0.6, 'tau_W_z': 0.6}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='contact from the target', unit='m', size=2, most=100.0),
        Observed(name='velocity of the target', unit='m/s', size=2, most=10.0),
        Observed(name='angular velocity of the shell, in W', unit='rad/s', size=3, most=200.0),
        Observed(name='attitude of the pendulum, wxyz', unit='', size=4, most=1.0),
        Observed(name='angular velocity of the pendulum, in W', unit='rad/s', size=3, most=200.0),
    )
    radius, speed = 1.0, 0.3  # of the path [m], of the target [m/s]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state at rest, and as goal a circle that goes off in any direction."""
        x = self.scenario.x0.copy()
        angle = rng.uniform(-math.pi, math.pi)
        here = x[self.scenario.system.state.slice('contact')]
        centre = here - self.radius * np.array([math.cos(angle), math.sin(angle)])
        return x, np.array([*centre, self.radius, angle, self.speed / self.radius])

    def observe(self, lanes: Lanes) -> Array:
        """
        Return the offset from the target, and how shell and pendulum stand and move.

        Shape (size, n), units as in ``observed``.
        """
        target, moves = circling(lanes.goals, lanes.times)
        offset = self.of(lanes, 'contact') - target
        pendulum = one_sided(self.of(lanes, 'q_WP'))
        shell, swing = self.of(lanes, 'w_WS_W'), self.of(lanes, 'w_WP_W')
        return np.hstack([offset, moves, shell, pendulum, swing])

    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """Reward a small distance; actions [1] have shape (size, m)."""
        target, _ = circling(lanes.goals, lanes.times)
        distance = np.linalg.norm(self.of(lanes, 'contact') - target, axis=1)
        return Verdict(
            reward=near(distance, 0.2) * less_effort(actions),
            success=distance < 0.05,
            failed=np.zeros(len(distance), bool),
        )


class PointMassBall(Task):
    """
    A ball with three masses on rails inside follows a target along an S at 0.3 m/s.

    Actions are the accelerations of the masses along their rails, in 50 rad/s^2. The reward is
    near 1 at the target and 0.24 at 0.1 m. An episode ends where the ball slips or leaves the
    floor, and where a mass turns by more than 60 rad/s. Success is 20 mm.
    """

    described = 'point_mass_s_path'
    dt, max_step, steps = 0.02, 5e-3, 500
    actions: ClassVar = {f'theta_acceleration_{k}': 50.0 for k in (1, 2, 3)}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='along and aside, from the target', unit='m', size=2, most=100.0),
        Observed(name='cosines of the masses on their rails', unit='', size=3, most=1.0),
        Observed(name='sines of the masses on their rails', unit='', size=3, most=1.0),
        Observed(name='rates of the masses', unit='rad/s', size=3, most=200.0),
        Observed(name='attitude of the ball, wxyz', unit='', size=4, most=1.0),
        Observed(name='angular velocity of the ball, in B', unit='rad/s', size=3, most=200.0),
    )
    speed, fastest = 0.3, 60.0  # of the target [m/s], of a mass [rad/s]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state at rest, a little off the path, which is always the same."""
        x = self.scenario.x0.copy()
        x[self.scenario.system.state.slice('path')] += [0.0, rng.uniform(-0.02, 0.02)]
        return x, np.zeros(0)

    def observe(self, lanes: Lanes) -> Array:
        """
        Return the offset from the target, and how masses and ball stand and move.

        Shape (size, n), units as in ``observed``.
        """
        theta = self.of(lanes, 'theta')
        attitude = one_sided(self.of(lanes, 'q_WB'))
        rates, w = self.of(lanes, 'theta_rate'), self.of(lanes, 'w_WB_B')
        offset = self._offset(lanes)
        return np.hstack([offset, np.cos(theta), np.sin(theta), rates, attitude, w])

    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """
        Reward a small distance; fail where a mass is too fast.

        Actions [1] have shape (size, m).
        """
        distance = np.linalg.norm(self._offset(lanes), axis=1)
        return Verdict(
            reward=near(distance, 0.1) * less_effort(actions),
            success=distance < 0.02,
            failed=np.abs(self.of(lanes, 'theta_rate')).max(axis=1) > self.fastest,
        )

    def _offset(self, lanes: Lanes) -> Array:
        """Return how far along and aside of the target the ball is [m]."""
        along, aside = self.of(lanes, 'path').T
        return np.column_stack([along - self.speed * lanes.times, aside])
