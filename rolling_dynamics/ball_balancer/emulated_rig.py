"""The rig of a scenario file in time: plant, dead time of the servos, and the camera."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.ball_balancer.rig_file import RigFile
from rolling_dynamics.contract.event import Event
from rolling_dynamics.simulation import Stepper

Array = NDArray[np.float64]
LONGEST = 2e-3  # s, of a step of the plant
SAME_TIME = 1e-12  # s


class Frame(NamedTuple):
    """
    What the camera told.

    Attributes
    ----------
    shot, arrival
        Middle of the exposure, and when it is known [s].
    place
        Of the ball on the plate (2) [m]; not a number without a ball.

    """

    shot: float
    arrival: float
    place: Array


class EmulatedRig:
    """
    A rig that goes on as time is told, deterministic for a seed.

    Attributes
    ----------
    system, p
        The plant.
    state
        Where it is, with its mode; ``state.ended`` once the ball has left the plate.
    u, newest
        Angles that the servos go to, and those that were sent last [rad].
    held
        Whether a hand holds the ball where it is.
    times, ball
        Where the ball was after each step, since the last :meth:`forget` [s], [m].
    events
        What happened to it since then.

    """

    def __init__(self, file: RigFile, seed: int | None = None) -> None:
        """
        Compile the plant and put it at rest, level, the ball in the middle.

        Parameters
        ----------
        file
            The rig; its start and its commands over time do not matter.
        seed
            Random seed of maps and camera; that of the file if None.

        """
        self._file, self._seed = file, file.seed if seed is None else seed
        self.system, self.p = file.system_and_parameters(self._seed)
        self._plant = Stepper(self.system, self.p, max_step=LONGEST)
        self.restart()

    def restart(self, ball: ArrayLike = (0.0, 0.0), rate: ArrayLike = (0.0, 0.0)) -> None:
        """Begin at time zero, the plate level; place [m] and rate [m/s] of the ball: 2 numbers."""
        self._rng = np.random.default_rng([self._seed, 1])
        self.u = self.newest = self._file.command(self.system, self.p, np.zeros(2))
        x = np.concatenate([ball, rate, self.system.at_rest(self.u)])
        self.state, self.held = self._plant.begin(x, self.u), False
        self._sent: list[tuple[float, Array]] = []  # commands on their way to the servos
        self._coming: list[Frame] = []
        self._shots = 0
        self.times, self.ball = [0.0], [x[:2]]
        self.events: list[Event] = []

    def put(self, ball: ArrayLike) -> None:
        """Put the ball at rest at a place (2) [m], as by hand; the servos go on."""
        x = self.state.x.copy()
        x[:2], x[2:4] = ball, 0.0
        self.state = self.system.begin(self.p, x, self.u, self.state.t)

    def send(self, u: ArrayLike, at: float) -> None:
        """Take angles for the servos (n) [rad] that were sent at a time [s]."""
        self.newest = np.array(u, dtype=float)
        self._sent.append((at + self._file.servo.dead_time, self.newest))

    def advance(self, until: float) -> list[Frame]:
        """Go on to a time [s], and return the frames that are known by then."""
        camera = self._file.camera
        while self._shots / camera.rate <= until + SAME_TIME:
            shot = self._shots / camera.rate
            self._go(shot)
            self._coming.append(Frame(shot, shot + camera.delay, self._seen(shot)))
            self._shots += 1
        self._go(until)
        known = [f for f in self._coming if f.arrival <= until + SAME_TIME]
        self._coming = self._coming[len(known) :]
        return known

    def forget(self) -> None:
        """Keep of the way of the ball what the next exposure needs."""
        since = self.state.t - self._file.camera.exposure - LONGEST
        k = bisect_left(self.times, since)
        self.times, self.ball, self.events = self.times[k:], self.ball[k:], []

    def _go(self, until: float) -> None:
        while self.state.t < until - SAME_TIME and self.state.ended is None:
            while self._sent and self._sent[0][0] <= self.state.t + SAME_TIME:
                self.u = self._sent.pop(0)[1]
            end = min(until, self.state.t + LONGEST, *(t for t, _ in self._sent[:1]))
            if self.held:
                self.state = replace(self.state, t=end)
            else:
                self.state = self._plant.step(self.state, self.u, end - self.state.t)
                self.events += self.state.events
            self.times.append(self.state.t)
            self.ball.append(self.state.x[:2])

    def _seen(self, shot: float) -> Array:
        """Return the mean place over the exposure, with noise; none where the ball is lost."""
        camera = self._file.camera
        first = bisect_left(self.times, shot - camera.exposure)
        place = np.mean(self.ball[min(first, len(self.ball) - 1) :], axis=0)
        place = place + camera.noise * self._rng.normal(size=2)
        if self._rng.random() < camera.lost or self.state.ended is not None:
            return np.full(2, np.nan)
        return np.asarray(place)
