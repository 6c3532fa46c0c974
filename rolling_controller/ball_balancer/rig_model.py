"""Model of a rig in metres and counts, and the fastest move that its servos allow."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, INERTIAS
from scipy.optimize import brentq


@dataclass(frozen=True, kw_only=True)
class RigModel:
    """
    Numbers of a rig. Maps and dead band are not among them.

    Attributes
    ----------
    period
        Of the frames [s].
    latency
        From a frame until a command that answers it takes effect [s].
    gain
        Acceleration of the ball for a count of tilt [m/s^2].
    lever
        How far the ball is carried back while the plate tilts by a count [m]: the plate moves
        under it, and turns it.
    speed, acceleration, stiffness, reach
        Of the servos [counts/s], [counts/s^2], [1/s], [counts].
    breakaway
        Middle of the range of the breakaway map [counts].
    noise
        Standard deviation of a measured coordinate [m].
    kinetic
        Tilt that a rolling ball is slowed by [counts]; 0 for laws that are not given.

    """

    period: float
    latency: float
    gain: float
    lever: float
    speed: float
    acceleration: float
    stiffness: float
    reach: float
    breakaway: float
    noise: float
    kinetic: float = 0.0

    @classmethod
    def of(cls, file: BallBalancerFile) -> RigModel:
        """Return the numbers of a rig from its file."""
        servo, camera = file.servo, file.camera
        rolling = 1 / (1 + INERTIAS[file.ball.inertia])
        return cls(
            period=1 / camera.rate,
            latency=camera.delay + servo.dead_time + servo.lag,
            gain=rolling * file.gravity * servo.count,
            lever=(rolling * file.plate.surface_height + file.ball.radius) * servo.count,
            speed=servo.speed,
            acceleration=servo.acceleration,
            stiffness=servo.stiffness,
            reach=servo.reach,
            breakaway=float(file.resistance.breakaway.mean()),
            noise=camera.noise,
        )

    @property
    def periods_late(self) -> int:
        """Whole periods of the latency."""
        return math.floor(self.latency / self.period)

    @property
    def rest(self) -> float:
        """What the latency has beyond whole periods [s]."""
        return self.latency - self.periods_late * self.period


STEP = 5e-4  # s
XTOL = 1e-6  # s
AFTER = 0.5  # s of motion after the last change of the command


class FastestMove(NamedTuple):
    """Times of the two changes of command [s], of 90 % of the way, and of its end."""

    first: float
    second: float
    rise: float
    end: float


def fastest_move(rig: RigModel, length: float, dead_time: float = 0.0) -> FastestMove:
    """
    Return the fastest move along one axis, full tilt forth, full tilt back, then level.

    Parameters
    ----------
    rig
        The rig, of which only gain and servos count.
    length
        Of the move [m].
    dead_time
        Before a command takes effect [s]; added to rise and end.

    """
    bang = 2 * float(np.sqrt(length / (rig.gain * rig.reach)))

    def stopping(first: float) -> Array:
        """Return both times, the second such that the ball ends at rest."""
        end = brentq(
            lambda t: moved(rig, np.array([first, t]))[2][-1], first, 4 * first + bang, xtol=XTOL
        )
        return np.array([first, end])

    def miss(first: float) -> float:
        return float(moved(rig, stopping(first))[1][-1]) - length

    changes = stopping(brentq(miss, bang / 20, bang, xtol=XTOL))
    times, place, _ = moved(rig, changes)
    rise = times[int(np.argmax(place >= 0.9 * length))]
    end = times[int(np.flatnonzero(abs(place - length) > 1e-3 * length)[-1])]
    first, second = changes.tolist()
    return FastestMove(first, second, float(rise) + dead_time, float(end) + dead_time)


def moved(rig: RigModel, changes: Array) -> tuple[Array, Array, Array]:
    """
    Return times [s], places [m], rates [m/s] of full tilt forth and back, shape (k,) each.

    The tilt changes at two times [s].
    """
    times = np.arange(0, float(changes[1]) + AFTER, STEP)
    # a step in which the command changes counts with its fraction of each
    shares = np.clip((times[:, None] + STEP - changes) / STEP, 0, 1)
    commands = rig.reach * (1 - 2 * shares[:, 0] + shares[:, 1])
    tilt = rate = place = speed = 0.0
    k, most = rig.stiffness, rig.acceleration
    places, speeds = np.empty(times.size), np.empty(times.size)
    for j, command in enumerate(commands):
        places[j], speeds[j] = place, speed
        before = command - tilt - rate * abs(rate) / (2 * most) - rate / k
        wanted = 4 * k * before / (abs(rate) / most + 1 / k)
        wanted = max(min(wanted, 4 * k * (rig.speed - rate)), 4 * k * (-rig.speed - rate))
        rate += STEP * max(-most, min(most, wanted))
        tilt += STEP * rate
        pull = rig.gain * tilt
        place += STEP * (speed + STEP / 2 * pull)
        speed += STEP * pull
    return times, places, speeds
