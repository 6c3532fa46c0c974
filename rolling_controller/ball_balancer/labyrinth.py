"""Follows a plan through a labyrinth: a Kalman filter, and a quadratic program an axis a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.ball_balancer.ball_filter import (
    BALL,
    BALL_RATE,
    frame_matrices,
    LEVEL,
    TILT_RATE,
    TILTED,
)
from rolling_controller.ball_balancer.horizon import Horizon
from rolling_controller.ball_balancer.rig import RigRun, run_rig
from rolling_controller.predictive.program import SOLVED, solver
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_planner.ball_balancer.labyrinth import LabyrinthPlan, plan_labyrinth
from scipy.linalg import solve_discrete_are

Array = NDArray[np.float64]
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
PATIENCE = 1.3  # durations of the plan after which a run ends
UNSURE = [BALL, BALL_RATE, LEVEL]  # what the camera corrects; the tilt follows the commands


@dataclass(frozen=True, eq=False)
class LabyrinthLaw:
    """
    A law that takes the ball along a plan.

    Attributes
    ----------
    file
        The labyrinth.
    plan
        What is followed.

    """

    file: LabyrinthFile
    plan: LabyrinthPlan

    @property
    def period(self) -> float:
        """Time between two frames [s]."""
        return 1 / self.file.camera.rate

    def start(self) -> RunningLabyrinth:
        """Return the law at its start."""
        return RunningLabyrinth(self)


def labyrinth_law(file: LabyrinthFile) -> LabyrinthLaw:
    """Return the law with the fastest plan of a labyrinth; raise NotConvergedError if none."""
    return LabyrinthLaw(file, plan_labyrinth(file))


class RunningLabyrinth:
    """
    The law with its state; the command that answers a frame takes effect at the next one.

    An axis' state: the ball's place less what the tilt carries it [m], its rate [m/s], tilt [rad],
    its speed [rad/s], and the angle by which the board is not level [rad]. The board is taken
    to be level at first; from then on the tilt follows what was commanded.

    Attributes
    ----------
    clock
        Time in the plan [s]; it runs while the set point is the end of the path.

    """

    def __init__(self, law: LabyrinthLaw) -> None:
        """Condense the programs of a board."""
        solver()
        self._plan, self._file, self._period = law.plan, law.file, law.period
        self._A, self._B = frame_matrices(law.plan.gain, law.file.servo.lag, law.period)
        self._gain = self._filter()
        axis = Horizon(self._A, self._B, FRAMES)
        outputs = np.eye(5)[[BALL, BALL_RATE, TILTED]]
        self._gradients, self._H = axis.cost(outputs, (PLACE, RATE, ANGLE), TURN)
        self._free = axis.free
        self._forced_tilt = np.ascontiguousarray(axis.forced[:, TILTED])
        self._z = np.zeros((5, 2))
        self.begin()

    def begin(self) -> None:
        """Begin anew where the ball is seen next, the board at rest."""
        self._z[[*UNSURE, TILT_RATE]] = 0.0
        self._found, self._blind = False, 0
        self.clock, self._sent = 0.0, np.zeros(2)

    def _find(self, place: Array) -> None:
        """Begin at a place of the ball, and where the plan first comes about as near as ever."""
        times = np.arange(0.0, self._plan.times[-1], FINE)
        away = np.hypot(*(self._plan.places(times) - place).T)
        self.clock = float(times[np.argmax(away < away.min() + NEAR)])
        self._z[BALL], self._z[[BALL_RATE, LEVEL]] = self._ball_at(place), 0.0
        self._found = True

    def _ball_at(self, place: Array) -> Array:
        return np.asarray(place + self._plan.lever * self._z[TILTED])

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """
        Return the speeds of the servos (2) [rad/s] after a frame.

        Parameters
        ----------
        measurement
            Where the ball is seen (2) [m]; not a number where it is not. The board is levelled
            after some frames without it.
        set_point
            Within a ball's radius of the end of the path, the ball is driven there; with any other
            it is held where it is on the path.

        """
        place, now = np.asarray(measurement, dtype=float), self._z.copy()
        seen = bool(np.isfinite(place).all())
        self._blind = 0 if seen else self._blind + 1
        if seen:
            off = self._ball_at(place) - now[BALL]
            if not self._found or np.hypot(*off) > LIFTED:
                self._find(place)
                now = self._z.copy()
            else:
                now[UNSURE] += np.outer(self._gain, off)
        after = self._A @ now + np.outer(self._B, self._sent)
        reach = self._file.servo.reach
        after[TILTED] = after[TILTED].clip(-reach, reach)
        self._z = after
        if self._found and self._blind < BLIND:
            going = np.hypot(*(np.asarray(set_point) - self._plan.end)) < self._file.ball.radius
            wanted = self._wanted(now, going=bool(going))
            self._sent = np.array([self._axis(k, *(w[:, k] for w in wanted)) for k in (0, 1)])
        else:
            self._found = False
            self._sent = -after[TILTED] / (FRAMES * self._period)
        most = self._file.servo.speed
        self._sent = self._sent.clip(-most, most)
        return self._sent

    def _wanted(self, now: Array, *, going: bool) -> tuple[Array, Array, Array, Array]:
        """Return ball, rate, tilt and turn (frames, 2) of the plan ahead; go on in it, or wait."""
        here = self._plan.at(np.array([self.clock]))[0][0]
        moves = going and np.hypot(*(now[BALL] - here)) <= BEHIND
        self.clock += self._period if moves else 0.0
        ahead = self.clock + self._period * np.arange(1.0, FRAMES + 1)
        ball, rate, angle, turn = self._plan.at(ahead)
        if not moves:
            rate, angle, turn = 0 * rate, 0 * angle, 0 * turn
            ball[:] = self._plan.at(np.array([self.clock]))[0]
        return ball, rate, angle, turn

    def _axis(self, k: int, ball: Array, rate: Array, angle: Array, turn: Array) -> float:
        free = self._free @ self._z[:, k]  # (frames, 5)
        wanted = (ball, rate, angle - self._z[LEVEL, k])
        f = sum(
            G @ (free[:, j] - w)
            for j, (G, w) in enumerate(zip(self._gradients, wanted, strict=True))
        )
        f = np.asarray(f) - turn / TURN**2
        servo = self._file.servo
        high = np.append(np.full(FRAMES, servo.speed), servo.reach - free[:, TILTED])
        low = np.append(np.full(FRAMES, -servo.speed), -servo.reach - free[:, TILTED])
        low, high = np.minimum(low, high[0]), np.maximum(high, low[0])
        found, _, flag, _ = solver()(self._H, f, self._forced_tilt, high, low)
        return float(found[0]) if flag == SOLVED else 0.0

    def _filter(self) -> Array:
        """Return the steady gains on ball, its rate and the level, shape (3,)."""
        T = self._period
        kick = np.array([T**2 / 2, T, 0])
        Q = np.outer(kick, kick) * ACCELERATION**2 / T + np.diag([1e-10, 1e-10, WANDER**2 * T])
        A, H = self._A[np.ix_(UNSURE, UNSURE)], np.eye(3)[:1]
        R = np.array([[self._file.camera.noise**2 + 1e-12]])
        P = solve_discrete_are(A.T, H.T, Q, R)
        return np.asarray(P @ H.T / (H @ P @ H.T + R)).ravel()


@dataclass(frozen=True, eq=False)
class LabyrinthRun:
    """
    What came of a run.

    Attributes
    ----------
    rig
        Frame by frame.
    time
        From when the law set out until the ball came within its radius of the end of the path
        [s]; None if it did not.

    """

    rig: RigRun
    time: float | None


def run_labyrinth(file: LabyrinthFile, plan: LabyrinthPlan, seed: int) -> LabyrinthRun:
    """Return what the law does on the board with what a random seed makes of the unknown."""
    start, end = file.board.path[[0, -1]]
    rig = run_rig(
        file,
        LabyrinthLaw(file, plan),
        lambda t: start if t < SETTLE else end,
        SETTLE + PATIENCE * plan.times[-1],
        seed=seed,
        ball=file.start(seed),
    )
    return LabyrinthRun(rig, arrival(rig.fine_times - SETTLE, rig.ball, end, file.ball.radius))


def arrival(times: Array, ball: Array, end: Array, within: float) -> float | None:
    """Return the first of times (k,) [s] at which ball (k, 2) is near its end (2) [m], or None."""
    there = np.hypot(*(ball - end).T) < within
    return float(times[np.argmax(there)]) if there.any() else None
