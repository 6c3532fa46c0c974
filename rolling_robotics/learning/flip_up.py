"""An ellipse that lies flat on a hand is thrown upright."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_robotics.learning.task import Lanes, less_effort, Observed, Task, Verdict

SHIFT, TURN = 5e-3, 0.05  # of starts [m], [rad]: those of the laboratory's imperfections


class FlipUpEllipse(Task):
    """
    An ellipse lies flat on a hand that moves in a plane, and is rolled up onto its end.

    Woodruff & Lynch, Section VIII-D. Actions are the accelerations of the hand along its axes x
    and z, in 10 m/s^2, and its angular acceleration, in 100 rad/s^2. The reward is the square of
    half of 1 + cos of the angle from upright: 0.25 where the ellipse lies, 1 where it stands. An
    episode ends where it slips, flies or rolls over the edge, and where the hand leaves a square
    of 0.6 m or is inclined by more than 1.2 rad. Success: within 0.1 rad, 1 rad/s and 0.2 m/s.
    """

    described = 'laboratory_flip_up'
    dt, max_step, steps = 0.01, 2e-3, 200
    actions: ClassVar = {'a_WH_H_x': 10.0, 'a_WH_H_z': 10.0, 'alpha_WH_H_y': 100.0}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='place of the hand, x and z in W', unit='m', size=2, most=1.0),
        Observed(name='velocity of the hand, x and z in H', unit='m/s', size=2, most=20.0),
        Observed(name='cosine and sine of the hand', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the hand', unit='rad/s', size=1, most=200.0),
        Observed(name='contact on the hand', unit='m', size=1, most=1.0),
        Observed(name='cosine and sine of the object, in W', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the object in H', unit='rad/s', size=1, most=500.0),
    )
    reach, steepest = 0.3, 1.2  # of the hand [m], [rad]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the state of an ellipse that lies a little off its place; the goal is fixed."""
        state = self.scenario.system.state
        x = self.scenario.x0.copy()
        x[state.slice('contact_h')] += [rng.uniform(-SHIFT, SHIFT), 0.0]
        angle = -math.pi / 2 + rng.uniform(-TURN, TURN)
        x[state.slice('q_HO')] = [math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0]
        return x, np.zeros(0)

    def observe(self, lanes: Lanes) -> Array:
        """Return how hand and object stand and move, shape (size, n), units as in ``observed``."""
        place, velocity = self.of(lanes, 'p_WH'), self.of(lanes, 'v_WH_H')
        hand, whole = self._angles(lanes)
        return np.column_stack(
            [
                place[:, [0, 2]],
                velocity[:, [0, 2]],
                np.cos(hand),
                np.sin(hand),
                self.of(lanes, 'w_WH_H')[:, 1],
                self.of(lanes, 'contact_h')[:, 0],
                np.cos(whole),
                np.sin(whole),
                self.of(lanes, 'w_HO_H')[:, 1],
            ]
        )

    def judge(self, lanes: Lanes, actions: Array) -> Verdict:
        """
        Reward standing; fail where the hand leaves its space.

        Actions [1] have shape (size, m).
        """
        hand, whole = self._angles(lanes)
        turning = self.of(lanes, 'w_WH_H')[:, 1] + self.of(lanes, 'w_HO_H')[:, 1]
        speed = np.linalg.norm(self.of(lanes, 'v_WH_H'), axis=1)
        out = np.abs(self.of(lanes, 'p_WH')).max(axis=1) > self.reach
        return Verdict(
            reward=((1 + np.cos(whole)) / 2) ** 2 * less_effort(actions),
            success=(np.cos(whole) > math.cos(0.1)) & (np.abs(turning) < 1) & (speed < 0.2),
            failed=out | (np.abs(hand) > self.steepest),
        )

    def _angles(self, lanes: Lanes) -> tuple[Array, Array]:
        """Return the angles of the hand and of the object about y of W [rad]."""
        hand, inside = (_about_y(self.of(lanes, name)) for name in ('q_WH', 'q_HO'))
        return hand, hand + inside


def _about_y(q: Array) -> Array:
    """Return the angle of rotations about y, from -pi to pi [rad]."""
    angle = 2 * np.arctan2(q[:, 2], q[:, 0])
    return np.asarray((angle + math.pi) % (2 * math.pi) - math.pi)
