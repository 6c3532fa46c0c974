"""Model of a rig in metres and counts."""

from __future__ import annotations

from dataclasses import dataclass
import math

from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, INERTIAS


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
        Tilt that a rolling ball is slowed by [counts]; 0 for laws that do not know it.

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
