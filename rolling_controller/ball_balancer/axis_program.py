"""The quadratic program of one axis of a rig: accelerations of its servo in the frames to come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.estimator import held
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_controller.predictive.program import solver
from rolling_dynamics.arrays import Array


class Horizon:
    """
    States after each frame, ``free @ start + forced @ controls``.

    Attributes
    ----------
    free, forced
        Shapes (frames, n, n) and (frames, n, frames).

    """

    def __init__(self, A: Array, B: Array, frames: int) -> None:
        """Condense ``x' = A x + B u`` of a frame; A and B have the shapes (n, n) and (n,)."""
        powers = [np.eye(len(A))]
        for _ in range(frames):
            powers.append(A @ powers[-1])
        self.free = np.array(powers[1:])
        self.forced = np.zeros((frames, len(A), frames))
        for k in range(frames):
            for j in range(k + 1):
                self.forced[k, :, j] = powers[k - j] @ B

    def cost(
        self, outputs: Array, scales: Sequence[float], effort: float, late: ArrayLike = 1.0
    ) -> tuple[list[Array], Array]:
        """
        Return what a deviation of each output adds to the gradient, and the Hessian.

        Parameters
        ----------
        outputs
            Output from state, shape (m, n).
        scales, effort
            Deviations that count as one: of the outputs, and of a control.
        late
            Weight of each frame, shape (frames,).

        """
        rows = [output @ self.forced for output in outputs]
        weights = np.broadcast_to(late, len(self.free))[:, None]
        gradients = [(weights * r / s**2).T for r, s in zip(rows, scales, strict=True)]
        H = sum(G @ r for G, r in zip(gradients, rows, strict=True))
        return gradients, np.ascontiguousarray(H + np.eye(len(self.free)) / effort**2)


FRAMES = 24  # that are looked ahead
# Deviations that count as one: chosen on the rig of config/scenarios/ball_balancer.yaml
PLACE, RATE, TILT, EFFORT = 1e-3, 1.65e-3, 100.0, 1.0  # m, m/s, counts, greatest acceleration
RISING = 2  # power of the time with which deviations count
THERE = 14  # frames in which a ball is taken to come from place to place on an uneven plate
BALL_RATE, TILTED, TILT_RATE = 1, 2, 3  # columns of a state
SLACK = 1e-6  # counts, for the rounding of the start


class AxisProgram:
    """
    Moves a ball to its set point by a servo within its limits; condensed once.

    A state is the place of the ball once the plate is level [m], its rate [m/s], tilt [counts] and
    tilt rate [counts/s]. Speed, acceleration and reach of the servo are hard limits.

    Attributes
    ----------
    H
        Hessian, shape (frames, frames).
    limited
        Tilt rates, then tilts, that controls give, shape (2 frames, frames).

    """

    def __init__(self, rig: RigModel) -> None:
        """Condense the model of a rig."""
        solver()
        self._rig = rig
        n, T, g = FRAMES, rig.period, rig.gain
        A, B = held(np.diag([1.0, g, 1.0], 1), rig.acceleration * np.eye(4)[:, 3:], T)
        push = g * np.array([T**2 / 2, T, 0, 0])  # of a count of force
        axis = Horizon(A, B[:, 0], n)
        self._free, self._forced = axis.free, axis.forced
        pushed = np.array([push, *(P @ push for P in self._free[:-1])])
        self._way = np.minimum((np.arange(n) + 0.5) / THERE, 1.0)
        self._pushed = np.cumsum(pushed, axis=0)
        self._later = np.array([self._way[: k + 1][::-1] @ pushed[: k + 1] for k in range(n)])
        self._seen = np.array([1, 0, -rig.lever, 0])  # where the ball is on the tilted plate
        late = ((np.arange(n) + 1) / n) ** RISING
        outputs = np.vstack([self._seen, np.eye(4)[[BALL_RATE, TILTED]]])
        self._gradients, self.H = axis.cost(outputs, (PLACE, RATE, TILT), EFFORT, late)
        limited = np.vstack([self._forced[:, TILT_RATE], self._forced[:, TILTED]])
        self.limited = np.ascontiguousarray(limited)

    def plan(
        self, start: Array, goal: float, level: float, force: float, rise: float = 0.0
    ) -> Array:
        """
        Return the states after each frame, shape (frames, 4).

        Parameters
        ----------
        start
            State when the next command takes effect, shape (4,).
        goal
            Set point [m].
        level
            Tilt at which nothing pulls the ball [counts].
        force
            What acts besides, such as rolling resistance [counts].
        rise
            By how much the tilt at which nothing pulls the ball is more at the set point [counts].

        """
        base, f, low, high = self.problem(start, goal, level, force, rise)
        found, _, flag, _ = solver()(self.H, f, self.limited, high, low)
        return base + self._forced @ found if flag > 0 else base  # unsolved: go on as it is

    def problem(
        self, start: Array, goal: float, level: float, force: float, rise: float = 0.0
    ) -> tuple[Array, Array, Array, Array]:
        """
        Return states without control, gradient, and limits; see :meth:`plan`.

        The limits are of the controls, then of what ``limited`` gives.
        """
        rig, start = self._rig, start.copy()
        start[TILT_RATE] = speed = float(np.clip(start[TILT_RATE], -rig.speed, rig.speed))
        base, f, drift = self.without_control(np.array([*start, goal, level, force, rise]))
        # a servo that is on its way to the end of its reach cannot stop before it
        stops = abs(start[TILTED] + speed * (abs(speed) / (2 * rig.acceleration) + rig.period))
        most = np.repeat([rig.speed, max(rig.reach, stops)], FRAMES) + SLACK
        ones = np.ones(FRAMES)
        high, low = np.concatenate([ones, most - drift]), np.concatenate([-ones, -most - drift])
        return base, f, low, high

    def without_control(self, asked: Array) -> tuple[Array, Array, Array]:
        """Return states, gradient, and tilt rates and tilts, all linear in what is asked (8)."""
        start, (goal, level, force, rise) = asked[:4], asked[4:]
        base = self._free @ start + (force - level) * self._pushed - rise * self._later
        tilt_off = base[:, TILTED] - level - rise * self._way
        off = (base @ self._seen - goal, base[:, BALL_RATE], tilt_off)
        f = sum(G @ miss for G, miss in zip(self._gradients, off, strict=True))
        return base, np.asarray(f), np.concatenate([base[:, TILT_RATE], base[:, TILTED]])
