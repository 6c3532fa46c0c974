"""Follows a plan through a labyrinth: a Kalman filter, and a quadratic program an axis a frame."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rolling_controller.ball_balancer.horizon import Horizon
from rolling_controller.predictive.program import SOLVED, solver
from rolling_dynamics.ball_balancer.labyrinth import Labyrinth, LabyrinthPlant, Met, TILT
from rolling_planner.ball_balancer.labyrinth import LabyrinthPlan
from scipy.linalg import expm, solve_discrete_are

Array = NDArray[np.float64]
FRAMES = 24  # that are looked ahead
PLACE, RATE, ANGLE, TURN = 1e-3, 0.05, 0.1, 1.0  # deviations that count as one: m, m/s, rad, rad/s
ACCELERATION = 0.02  # m/s^2 sqrt(s): white acceleration that the model does not know
WANDER = 1e-3  # rad/sqrt(s): how fast the level may change
BEHIND = 6e-3  # m from the plan, beyond which it waits
PATIENCE = 3.0  # durations of the plan after which a run ends
BALL, BALL_RATE, TILTED, TILT_RATE, LEVEL = range(5)  # of an axis' state


class LabyrinthLaw:
    """
    The law with its state; the command that answers a frame takes effect at the next one.

    An axis' state: the ball's place less what the tilt carries it [m], its rate [m/s], tilt [rad],
    its speed [rad/s], and the angle by which the board is not level [rad].

    Attributes
    ----------
    clock
        Time in the plan [s].
    plan
        What is followed.

    """

    def __init__(self, board: Labyrinth, plan: LabyrinthPlan) -> None:
        """Condense the programs of a board."""
        self.plan, self.clock, self._board = plan, 0.0, board
        self.period = 1 / board.camera.rate
        self._A, self._B = _frame(plan.gain, board.servo.lag, self.period)
        self._seen = np.array([[1, 0, -plan.lever, 0, 0], [0, 0, 1.0, 0, 0]])
        self._gain = self._filter()
        self._z, self._sent = np.zeros((5, 2)), np.zeros(2)
        self._z[BALL] = plan.ball[0]
        axis = Horizon(self._A, self._B, FRAMES)
        outputs = np.eye(5)[[BALL, BALL_RATE, TILTED]]
        self._gradients, self._H = axis.cost(outputs, (PLACE, RATE, ANGLE), TURN)
        self._free = axis.free
        self._forced_tilt = np.ascontiguousarray(axis.forced[:, TILTED])

    def step(self, place: Array, tilt: Array) -> Array:
        """Return the speeds of the servos (2) [rad/s] after a frame with measured tilts (2)."""
        off = np.vstack([place, tilt]) - self._seen @ self._z
        now = self._z + self._gain @ off
        self._z = self._A @ now + np.outer(self._B, self._sent)
        late = np.hypot(*(now[BALL] - self.plan.at(np.array([self.clock]))[0][0])) > BEHIND
        self.clock += 0.0 if late else self.period
        ahead = self.clock + self.period * np.arange(1.0, FRAMES + 1)
        ball, rate, angle, turn = self.plan.at(ahead)
        if late:
            rate, angle, turn = 0 * rate, 0 * angle, 0 * turn
            ball[:] = self.plan.at(np.array([self.clock]))[0]
        most = self._board.servo.speed
        self._sent = np.array(
            [
                self._axis(k, np.array([ball[:, k], rate[:, k], angle[:, k]]), turn[:, k])
                for k in (0, 1)
            ]
        ).clip(-most, most)
        return self._sent

    def _axis(self, k: int, wanted: Array, turn: Array) -> float:
        free = self._free @ self._z[:, k]  # (frames, 5)
        wanted[2] -= self._z[LEVEL, k]
        f = sum(
            G @ (free[:, j] - w)
            for j, (G, w) in enumerate(zip(self._gradients, wanted, strict=True))
        )
        f = np.asarray(f) - turn / TURN**2
        servo = self._board.servo
        high = np.append(np.full(FRAMES, servo.speed), servo.tilt - free[:, TILTED])
        low = np.append(np.full(FRAMES, -servo.speed), -servo.tilt - free[:, TILTED])
        low, high = np.minimum(low, high[0]), np.maximum(high, low[0])
        found, _, flag, _ = solver()(self._H, f, self._forced_tilt, high, low)
        return float(found[0]) if flag == SOLVED else 0.0

    def _filter(self) -> Array:
        """Return the steady gains, shape (5, 2)."""
        T, board = self.period, self._board
        kick = np.array([T**2 / 2, T, 0, 0, 0])
        Q = np.outer(kick, kick) * ACCELERATION**2 / T
        Q += np.diag([1e-10, 1e-10, 1e-8, 1e-2, WANDER**2 * T])
        R = np.diag([board.camera.noise**2, board.servo.noise**2]) + 1e-12 * np.eye(2)
        H = self._seen
        P = solve_discrete_are(self._A.T, H.T, Q, R)
        return np.asarray(P @ H.T @ np.linalg.inv(H @ P @ H.T + R))


def _frame(gain: float, lag: float, period: float) -> tuple[Array, Array]:
    """Return what a frame makes of an axis' state and of its command."""
    M = np.zeros((6, 6))
    M[BALL, BALL_RATE] = M[TILTED, TILT_RATE] = 1
    M[BALL_RATE, [TILTED, LEVEL]] = gain
    M[TILT_RATE, [TILT_RATE, 5]] = -1 / lag, 1 / lag
    E = expm(M * period)
    return E[:5, :5], E[:5, 5]


@dataclass(frozen=True, eq=False)
class LabyrinthRun:
    """
    What came of a run.

    Attributes
    ----------
    times, ball
        Of the frames [s] (k,), and where the ball truly was (k, 2) [m].
    reached, fallen
        Whether it came to the end of the path, or fell.
    met
        Walls that were touched, and the hole.

    """

    times: Array
    ball: Array
    reached: bool
    fallen: bool
    met: list[Met]


def run_labyrinth(board: Labyrinth, plan: LabyrinthPlan, seed: int) -> LabyrinthRun:
    """Return what the law does on the board with what a random seed makes of the unknown."""
    rng = np.random.default_rng(seed)
    start = board.path[0] + rng.normal(size=2) * board.unknown.start
    plant = LabyrinthPlant(board, start, rng.normal(size=2) * board.unknown.offset)
    law = LabyrinthLaw(board, plan)
    times, ball, command = [], [], np.zeros(2)
    reached = False
    while not (reached or plant.fallen) and plant.time < PATIENCE * plan.times[-1]:
        times.append(plant.time)
        ball.append(plant.x[:2].copy())
        seen = plant.x[:2] + rng.normal(size=2) * board.camera.noise
        angle = plant.x[TILT] + rng.normal(size=2) * board.servo.noise
        after = law.step(seen, angle)
        plant.advance(command, len(times) * law.period)
        command = after
        at_end = np.hypot(*(plant.x[:2] - board.path[-1])) < board.radius
        reached = bool(at_end and not plant.fallen)
    times.append(plant.time)
    ball.append(plant.x[:2].copy())
    return LabyrinthRun(np.array(times), np.array(ball), reached, plant.fallen, plant.met)
