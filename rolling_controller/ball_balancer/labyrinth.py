"""Follows a plan through a labyrinth: a Kalman filter, and a quadratic program an axis a frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer.estimator import held, pair, steady_gain
from rolling_controller.ball_balancer.predictive import Horizon
from rolling_controller.predictive.program import SOLVED, solver
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.contract.rolling_system import Layout
from rolling_planner.ball_balancer.labyrinth import LabyrinthPlan, plan_labyrinth

BALL, BALL_RATE, TILTED, TILT_RATE, LEVEL = range(5)  # state of an axis
FRAMES = 24  # that are looked ahead
PLACE, RATE, ANGLE, TURN = 1e-3, 0.05, 0.1, 1.0  # deviations that count as one: m, m/s, rad, rad/s
ACCELERATION = 0.02  # m/s^2 sqrt(s): white acceleration that the model does not know
WANDER = 5e-3  # rad/sqrt(s): what late commands make of the tilt, as if the level changed
BEHIND = 6e-3  # m from the plan, beyond which it waits
LIFTED = 0.02  # m from where the ball was expected: it was put there
NEAR = 3e-3  # m
FINE = 2e-3  # s, between the points of the plan of which the nearest is sought
BLIND = 5  # frames without a ball, after which the board is levelled
SETTLE = 3.0  # s for which it holds the ball at the start, and learns the level
UNSURE = [BALL, BALL_RATE, LEVEL]  # corrected by the camera; the tilt follows the commands


class Progress(NamedTuple):
    """
    Memory of the law.

    Attributes
    ----------
    z
        State of each axis, shape (5, 2): the ball's position without the shift by the tilt [m],
        its rate [m/s], tilt [rad], its speed [rad/s], and the board's deviation from level [rad].
    sent
        Previous command (2) [rad/s].
    clock
        Time in the plan [s]; it runs while the set point is the end of the path.
    known, blind
        Whether the ball was ever detected, and the number of frames since.

    """

    z: Array
    sent: Array
    clock: float = 0.0
    known: bool = False
    blind: int = 0


class LabyrinthLaw:
    """
    Law that guides the ball along a plan; its command takes effect at the next frame.

    The board is assumed to be level at first; from then on the tilt follows the commands.

    Attributes
    ----------
    file
        The labyrinth.
    plan
        The plan.
    period
        Time between two frames [s].

    """

    inputs = Layout((*pair('ball', 'm').entries, *pair('goal', 'm').entries))
    output = pair('servo_speed', 'rad/s')
    opaque = 'a quadratic program an axis'

    def __init__(self, file: LabyrinthFile, plan: LabyrinthPlan) -> None:
        """Condense the programs of a board."""
        solver()
        self.file, self.plan, self.period = file, plan, 1 / file.camera.rate
        A, lag = np.zeros((5, 5)), file.servo.lag
        A[BALL, BALL_RATE] = A[TILTED, TILT_RATE] = 1
        A[BALL_RATE, [TILTED, LEVEL]], A[TILT_RATE, TILT_RATE] = plan.gain, -1 / lag
        B = np.eye(5)[:, [TILT_RATE]] / lag
        self._A, B = held(A, B, self.period)
        self._B = B[:, 0]
        self._gain = self._filter()
        axis = Horizon(self._A, self._B, FRAMES)
        outputs = np.eye(5)[[BALL, BALL_RATE, TILTED]]
        self._gradients, self._H = axis.cost(outputs, (PLACE, RATE, ANGLE), TURN)
        self._free = axis.free
        self._forced_tilt = np.ascontiguousarray(axis.forced[:, TILTED])

    def start(self, before: Progress | None = None) -> Progress:
        """Return the memory until the ball is found, the board at rest; its tilt stays known."""
        z = np.zeros((5, 2))
        if before is not None:
            z[TILTED] = before.z[TILTED]
        return Progress(z, np.zeros(2))

    def _find(self, z: Array, place: Array) -> float:
        """Put the ball at a place; return when the plan first comes about as near as ever [s]."""
        times = np.arange(0.0, self.plan.times[-1], FINE)
        away = np.hypot(*(self.plan.places(times) - place).T)
        z[BALL], z[[BALL_RATE, LEVEL]] = self._ball_at(z, place), 0.0
        return float(times[np.argmax(away < away.min() + NEAR)])

    def _ball_at(self, z: Array, place: Array) -> Array:
        return np.asarray(place + self.plan.lever * z[TILTED])

    def step(self, memory: Progress, inputs: ArrayLike, t: float) -> tuple[Progress, Array]:  # noqa: ARG002
        """
        Return the memory and the servo speeds (2) [rad/s] after a frame.

        Parameters
        ----------
        memory
            The memory before.
        inputs
            Measured position of the ball (2) [m], NaN without a detection: the board is levelled
            after some frames without one. Then the set point (2) [m]. Within a ball's radius of
            the end of the path, the ball is driven there; with any other it is held at its present
            point of the path.
        t
            Stamp of the frame [s].

        """
        place, set_point = np.split(np.asarray(inputs, dtype=float), 2)
        _, sent, clock, known, blind = memory
        now = memory.z.copy()
        visible = bool(np.isfinite(place).all())
        blind = 0 if visible else blind + 1
        if visible:
            off = self._ball_at(now, place) - now[BALL]
            if not known or np.hypot(*off) > LIFTED:
                clock, known = self._find(now, place), True
            else:
                now[UNSURE] += np.outer(self._gain, off)
        z = self._A @ now + np.outer(self._B, sent)
        reach, most = self.file.servo.reach, self.file.servo.speed
        z[TILTED] = z[TILTED].clip(-reach, reach)
        if known and blind < BLIND:
            going = np.hypot(*(set_point - self.plan.end)) < self.file.ball.radius
            clock, *wanted = self._wanted(now, clock, going=bool(going))
            sent = np.array([self._axis(z[:, k], *(w[:, k] for w in wanted)) for k in (0, 1)])
        else:
            known, sent = False, -z[TILTED] / (FRAMES * self.period)
        sent = sent.clip(-most, most)
        return Progress(z, sent, clock, known, blind), sent

    def _wanted(
        self, now: Array, clock: float, *, going: bool
    ) -> tuple[float, Array, Array, Array, Array]:
        """Return clock, and predicted ball, rate, tilt and turn (frames, 2); continue, or wait."""
        here = self.plan.at(np.array([clock]))[0][0]
        moves = going and np.hypot(*(now[BALL] - here)) <= BEHIND
        clock += self.period if moves else 0.0
        ahead = clock + self.period * np.arange(1.0, FRAMES + 1)
        ball, rate, angle, turn = self.plan.at(ahead)
        if not moves:
            rate, angle, turn = 0 * rate, 0 * angle, 0 * turn
            ball[:] = self.plan.at(np.array([clock]))[0]
        return clock, ball, rate, angle, turn

    def _axis(self, z: Array, ball: Array, rate: Array, angle: Array, turn: Array) -> float:
        free = self._free @ z  # (frames, 5)
        wanted = (ball, rate, angle - z[LEVEL])
        f = sum(
            G @ (free[:, j] - w)
            for j, (G, w) in enumerate(zip(self._gradients, wanted, strict=True))
        )
        f = np.asarray(f) - turn / TURN**2
        servo = self.file.servo
        high = np.append(np.full(FRAMES, servo.speed), servo.reach - free[:, TILTED])
        low = np.append(np.full(FRAMES, -servo.speed), -servo.reach - free[:, TILTED])
        low, high = np.minimum(low, high[0]), np.maximum(high, low[0])
        found, _, flag, _ = solver()(self._H, f, self._forced_tilt, high, low)
        return float(found[0]) if flag == SOLVED else 0.0

    def _filter(self) -> Array:
        """Return the steady gains on ball, its rate and the level, shape (3,)."""
        T = self.period
        kick = np.array([T**2 / 2, T, 0])
        Q = np.outer(kick, kick) * ACCELERATION**2 / T + np.diag([1e-10, 1e-10, WANDER**2 * T])
        return steady_gain(self._A[np.ix_(UNSURE, UNSURE)], Q, self.file.camera.noise**2 + 1e-12)


def labyrinth_law(file: LabyrinthFile) -> LabyrinthLaw:
    """Return the law with the fastest plan of a labyrinth; raise NotConvergedError if none."""
    return LabyrinthLaw(file, plan_labyrinth(file))


def arrival(times: Array, ball: Array, end: Array, within: float) -> float | None:
    """Return the first of times (k,) [s] at which ball (k, 2) is near its end (2) [m], or None."""
    there = np.hypot(*(ball - end).T) < within
    return float(times[np.argmax(there)]) if there.any() else None
