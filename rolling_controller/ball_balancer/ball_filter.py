"""Kalman filters of a ball on what servos tilt: what the supervisor compares a camera with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer import estimator
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_controller.supervisor import Memory, Sample, Source, step, Verdict
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.labyrinth import ROLLING
from rolling_dynamics.ball_balancer.labyrinth_file import LabyrinthFile
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile
from rolling_dynamics.errors import ParameterError
from scipy.linalg import expm

BALL, BALL_RATE, TILTED, TILT_RATE, LEVEL = range(5)  # state of an axis of a labyrinth
FASTEST = 0.5  # m/s, standard deviation of the rate of a ball that is seen for the first time
WALLS = 1.0  # m/s^2 sqrt(s): what hits of walls are to a model that knows none
UNLEVEL = 0.02  # rad, standard deviation of how far the level is off at first
WANDER = 0.05  # rad/sqrt(s), of the level of a labyrinth


class Belief(NamedTuple):
    """
    What a filter knows of the ball.

    Attributes
    ----------
    z, P
        State (n, 2) and covariance (3, 3) of what the camera corrects.
    known
        Whether the ball was seen.
    memory
        That of the supervisor.

    """

    z: Array
    P: Array
    known: bool
    memory: Memory


class BallFilter(ABC):
    """
    A filter of both axes, in steps of a frame.

    Attributes
    ----------
    most
        Greatest command of a law.
    source
        What the camera declares.
    size
        Of the state of an axis.

    """

    # entries of the state that the camera corrects: ball, its rate, offset of the tilt
    rows: Sequence[int]
    size: int
    most: float

    def __init__(
        self, file: RigFile, gain: float, unit: float, noise: tuple[float, float]
    ) -> None:
        """Take a rig, the gain over the tilt, its unit [rad], and what the model does not know."""
        camera, (low, high) = file.camera, file.edges
        self.source = Source(
            name='the ball',
            period=1 / camera.rate,
            noise=camera.noise,
            low=low - file.ball.radius,
            high=high + file.ball.radius,
        )
        self._A, self._Q = estimator.axis_model(gain, 1 / camera.rate, *noise)
        self._R, self._unlevel = camera.noise**2 + 1e-12, UNLEVEL / unit

    @abstractmethod
    def predict(self, z: Array, command: Array) -> Array:
        """Return the state (n, 2) a period later, the newest command being this one."""

    @abstractmethod
    def ball_at(self, z: Array, place: Array) -> Array:
        """Return the ball's row of a state for a place (2) [m]."""

    def start(self) -> Belief:
        """Return what is known at first: the plate level and at rest, the ball not yet seen."""
        P = np.diag([0.0, 0.0, self._unlevel**2])
        return Belief(np.zeros((self.size, 2)), P, known=False, memory=Memory())

    def step(
        self, belief: Belief, place: ArrayLike, commands: Sequence[Array], t: float
    ) -> tuple[Belief, Verdict]:
        """
        Return what is known after a frame, and what the supervisor says of it.

        Parameters
        ----------
        belief
            What was known after the frame before.
        place
            Where the ball is seen (2) [m]; not a number where it is not.
        commands
            The command in force in each period since the frame before.
        t
            Stamp of the frame [s].

        """
        z, P, known, memory = belief
        for command in commands:
            z = self.predict(z, command)
            P = self._A @ P @ self._A.T + self._Q
        seen = np.array(place, dtype=float)
        r = self.ball_at(z, seen) - z[self.rows[0]]
        S = P[0, 0] + self._R
        sample = Sample(r[: 2 * known], np.full(2 * known, S), seen, seen)
        memory, verdict = step(self.source, memory, sample, t)
        z = z.copy()
        if not np.isfinite(r).all():
            known = bool(known and P[0, 0] < FASTEST**2)
        elif verdict.reopen or not known:  # at its place, if it can be there
            known = verdict.possible
            z[self.rows[0]], z[self.rows[1]] = self.ball_at(z, seen), 0.0
            P = np.diag([self._R, FASTEST**2, P[2, 2]])
        else:
            K = P[:, 0] / S
            z[list(self.rows)] += np.outer(K, r)
            P = P - np.outer(K, P[0])
        return Belief(z, P, known, memory), verdict


class PlateFilter(BallFilter):
    """Of a ball balancer."""

    def __init__(self, file: BallBalancerFile) -> None:
        """Write out the equations of a rig."""
        rig = RigModel.of(file)
        state = estimator.layout(rig)
        self.size, self.most = state.size // 2, rig.reach
        self.rows = [state.slice(n).start // 2 for n in ('ball', 'ball_rate', 'offset')]
        self._function = estimator.predicted(rig)
        noise = estimator.ACCELERATION, estimator.OFFSET
        super().__init__(file, rig.gain, file.servo.count, noise)

    def predict(self, z: Array, command: Array) -> Array:
        """Return the state a period later."""
        after = np.array(self._function([*z.ravel(), 1.0], command)).ravel()
        return after[:-1].reshape(z.shape)

    def ball_at(self, z: Array, place: Array) -> Array:  # noqa: ARG002
        """Return the place (2) [m] itself."""
        return place


class LabyrinthFilter(BallFilter):
    """Of a labyrinth; the last row of the state is the command before the newest one."""

    size, rows = 6, (BALL, BALL_RATE, LEVEL)

    def __init__(self, file: LabyrinthFile) -> None:
        """Take the numbers of a board."""
        self.most, self._reach, self._lever = file.servo.speed, file.servo.reach, file.ball.radius
        gain = ROLLING * file.gravity
        self._frame = frame_matrices(gain, file.servo.lag, 1 / file.camera.rate)
        super().__init__(file, gain, 1.0, (WALLS, WANDER))

    def predict(self, z: Array, command: Array) -> Array:
        """Return the state a period later."""
        A, B = self._frame
        after = np.vstack([A @ z[:5] + np.outer(B, z[5]), command])
        after[TILTED] = after[TILTED].clip(-self._reach, self._reach)
        return after

    def ball_at(self, z: Array, place: Array) -> Array:
        """Return the place (2) [m], less what the tilt carries the ball."""
        return np.asarray(place + self._lever * z[TILTED])


def frame_matrices(gain: float, lag: float, period: float) -> tuple[Array, Array]:
    """Return what a frame makes of an axis' state in a labyrinth, and of its command."""
    M = np.zeros((6, 6))
    M[BALL, BALL_RATE] = M[TILTED, TILT_RATE] = 1
    M[BALL_RATE, [TILTED, LEVEL]] = gain
    M[TILT_RATE, [TILT_RATE, 5]] = -1 / lag, 1 / lag
    E = expm(M * period)
    return E[:5, :5], E[:5, 5]


def ball_filter(file: RigFile) -> BallFilter:
    """Return the filter of a rig; raise ParameterError if there is none for it."""
    if isinstance(file, BallBalancerFile):
        return PlateFilter(file)
    if isinstance(file, LabyrinthFile):
        return LabyrinthFilter(file)
    raise ParameterError(f'no supervisor knows the ball of a {type(file).__name__}')
