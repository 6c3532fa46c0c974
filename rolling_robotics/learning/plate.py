"""A ball on a plate that tilts: kept at a target, and turned to an attitude."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.errors import ParameterError
from rolling_robotics.learning.task import (
    circling,
    Lanes,
    less_effort,
    near,
    Observed,
    Task,
    Verdict,
)
from rolling_robotics.scene.scene import rotation_matrices
from scipy.spatial.transform import Rotation

TARGETS = ('point', 'circle')
STEEPEST = math.cos(0.5)  # of the plate


class BallOnPlate(Task):
    """
    A ball of 0.1 m radius is brought to a target on a plate, or follows it along a circle.

    Actions are the angular accelerations of the plate about its axes x and y, in 10 rad/s^2. The
    reward is near 1 within some centimetres of the target, 0.24 at 0.1 m, and a tenth less where
    actions are at their limits, so that a steady plate is better than a trembling one. An episode
    ends where the ball slips, leaves the plate or rolls over its edge, and where the plate is
    inclined by more than 0.5 rad, as no plate that is built goes further. Success is 5 mm.
    """

    described = 'ball_on_plate_hard'
    dt, max_step, steps = 0.02, 5e-3, 250
    actions: ClassVar = {'alpha_WH_H_x': 10.0, 'alpha_WH_H_y': 10.0}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='ball from the target, in H', unit='m', size=2, most=1.0),
        Observed(name='velocity of the ball in H', unit='m/s', size=2, most=10.0),
        Observed(name='normal of the plate, x and y in W', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the plate', unit='rad/s', size=2, most=20.0),
        Observed(name='velocity of the target in H', unit='m/s', size=2, most=10.0),
    )
    reach, speed = 0.15, 0.1  # of starts and targets [m], of starts [m/s]
    circle, rate = 0.1, 1.0  # of the target [m], [rad/s]

    def __init__(self, *, target: str = 'point') -> None:
        """Take a target that rests (``point``) or moves along a ``circle``."""
        if target not in TARGETS:
            raise ParameterError(f'target must be one of {TARGETS}, got {target!r}')
        self.moves = target == 'circle'

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """
        Return the state of a ball that rolls on a level plate, and a circle as goal.

        A circle of radius zero is a point.
        """
        scenario, state = self.scenario, self.scenario.system.state
        x = scenario.x0.copy()
        x[state.slice('contact_h')] = rng.uniform(-self.reach, self.reach, 2)
        x[state.slice('q_HO')] = _unit(rng.normal(size=4))
        vx, vy = rng.uniform(-self.speed, self.speed, 2)
        radius = float(scenario.p[scenario.system.parameters.slice('object_surface')][0])
        x[state.slice('w_HO_H')] = [-vy / radius, vx / radius, 0.0]
        place, angle = rng.uniform(-self.reach, self.reach, 2), rng.uniform(-math.pi, math.pi)
        if not self.moves:
            return x, np.array([*place, 0.0, angle, 0.0])
        return x, np.array([0.0, 0.0, self.circle, angle, self.rate])

    def observe(self, lanes: Lanes) -> Array:
        """
        Return place and velocity of the ball, how the plate stands and turns, the target's.

        Shape (size, n), units as in ``observed``.
        """
        target, moves = circling(lanes.goals, lanes.times)
        normal = rotation_matrices(self.of(lanes, 'q_WH'))[:, :2, 2]
        turning = self.of(lanes, 'w_WH_H')[:, :2]
        place = self.of(lanes, 'contact_h') - target
        return np.hstack([place, self._velocity(lanes), normal, turning, moves])

    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """
        Reward a small distance; fail where the plate is too steep.

        Actions [1] have shape (size, m).
        """
        distance = self._distance(lanes)
        return Verdict(
            reward=near(distance, 0.1) * less_effort(actions),
            success=distance < 5e-3,
            failed=rotation_matrices(self.of(lanes, 'q_WH'))[:, 2, 2] < STEEPEST,
        )

    def _distance(self, lanes: Lanes) -> Array:
        target, _ = circling(lanes.goals, lanes.times)
        return np.asarray(np.linalg.norm(self.of(lanes, 'contact_h') - target, axis=1))

    def _velocity(self, lanes: Lanes) -> Array:
        """Return the velocity of the contact point in H: the radius times w, turned."""
        radius = lanes.parameters[:, self.scenario.system.parameters.slice('object_surface')]
        w = self.of(lanes, 'w_HO_H')
        return radius * np.column_stack([w[:, 1], -w[:, 0]])


class ReorientBall(BallOnPlate):
    """
    As BallOnPlate, and the ball has an attitude to come to: it has to roll round loops.

    The observation has the rotation from the ball's attitude to that of the goal, a rotation
    vector in H, too. The reward is that of the place times 1 at the attitude, 0 at half a turn.
    Success is 5 mm and 0.1 rad.
    """

    steps = 500
    observed: ClassVar[tuple[Observed, ...]] = (
        *BallOnPlate.observed,
        Observed(name='rotation to the goal, in H', unit='rad', size=3, most=math.pi),
    )

    def __init__(self) -> None:
        """Take a target that rests."""
        super().__init__()

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state, and a target with an attitude, a quaternion uniform in SO(3)."""
        x, goal = super().start(rng)
        return x, np.array([*goal, *_unit(rng.normal(size=4))])

    def observe(self, lanes: Lanes) -> Array:
        """
        Return what BallOnPlate does, and the rotation that is missing [rad].

        Shape (size, n).
        """
        return np.hstack([super().observe(lanes), self._missing(lanes)])

    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """Reward a small distance of place and attitude; actions [1] have shape (size, m)."""
        place = super().judge(lanes, actions)
        angle = np.linalg.norm(self._missing(lanes), axis=1)
        return Verdict(
            reward=place.reward * (1 - angle / math.pi),
            success=place.success & (angle < 0.1),
            failed=place.failed,
        )

    def _missing(self, lanes: Lanes) -> Array:
        """Return the rotation vector that takes the ball to its goal, the short way."""
        goal, here = (
            Rotation.from_quat(q[:, [1, 2, 3, 0]])
            for q in (lanes.goals[:, 5:9], self.of(lanes, 'q_HO'))
        )
        return np.asarray((goal * here.inv()).as_rotvec())


def _unit(q: Array) -> Array:
    """Return a vector of length 1."""
    return np.asarray(q / np.linalg.norm(q))
