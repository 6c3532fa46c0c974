"""
Model of a rig in metres and counts, and a Kalman filter with its delay.

The filter estimates the position of the ball at the time when the next command takes effect.

The servos are predicted in small steps of the plant's model, without its dead band. Ball and
offset are linear; their steady gains come from the algebraic Riccati equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.ball_balancer.scenario import BallBalancerFile, INERTIAS
from rolling_dynamics.contract.rolling_system import Entry, Layout
from rolling_dynamics.driven import limited, servo_acceleration
from scipy.linalg import expm, solve_discrete_are

LONGEST = 3e-3  # s, of a small step
ACCELERATION = 0.15  # m/s^2 sqrt(s): white acceleration that the model does not know
OFFSET = 40.0  # counts/sqrt(s): how fast the offset may walk
PATIENCE = 10  # frames without a ball after which it is lost
FARTHEST, FASTEST, STEEPEST = 20.0, 20.0, 4.0  # m, m/s, reaches: no estimate is beyond
SLOW = 0.01  # m/s, below which kinetic resistance fades
AXES = ('x', 'y')


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
        """Remainder of the latency beyond whole periods [s]."""
        return self.latency - self.periods_late * self.period


@dataclass(frozen=True)
class Motion:
    """
    Tilt, its rate [counts], ball and its rate [m]: expressions, two of each.

    The rate of the ball is of its position plus lever times tilt, which tilting does not change.
    """

    tilt: ca.SX
    tilt_rate: ca.SX
    ball: ca.SX
    ball_rate: ca.SX


def layout(rig: RigModel) -> Layout:
    """Return the layout of the estimator's state."""
    parts = [('tilt', 'counts'), ('tilt_rate', 'counts/s'), ('ball', 'm'), ('ball_rate', 'm/s')]
    parts += [('offset', 'counts')]
    parts += [(f'sent_{k + 1}', 'counts') for k in range(rig.periods_late + 2)]
    entries = [Entry(n, tuple(f'{n}_{a}' for a in AXES), unit) for n, unit in parts]
    return Layout((*entries, Entry('followed', ('followed',), '', text='1 while it is')))


def pair(name: str, unit: str) -> Layout:
    """Return the layout of one number an axis."""
    return Layout((Entry(name, tuple(f'{name}_{a}' for a in AXES), unit),))


def held(A: Array, B: Array, period: float) -> tuple[Array, Array]:
    """Return A (n, n) and B (n, m) of ``dx/dt = A x + B u`` over a period [s] of constant u."""
    n, m = B.shape
    step = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * period)
    return step[:n, :n], step[:n, n:]


def steady_gain(A: Array, Q: Array, variance: float) -> Array:
    """Return the gains (n) of a Kalman filter whose first state is measured with a variance."""
    H, R = np.eye(1, len(A)), np.array([[variance]])
    P = solve_discrete_are(A.T, H.T, Q, R)
    return np.asarray(P @ H.T / (H @ P @ H.T + R)).ravel()


def kalman_gain(rig: RigModel, walk: float = OFFSET) -> Array:
    """
    Return the steady gains of ball [1], ball rate [1/s], offset [counts/m], shape (3,).

    The offset walks by ``walk`` [counts/sqrt(s)].
    """
    T, g = rig.period, rig.gain
    A = np.array([[1, T, g * T**2 / 2], [0, 1, g * T], [0, 0, 1]])
    kick = np.array([T**2 / 2, T, 0.0])
    Q = np.outer(kick, kick) * ACCELERATION**2 / T + np.diag([0, 0, walk**2 * T])
    return steady_gain(A, Q, rig.noise**2)


def advanced(
    rig: RigModel, motion: Motion, offset: ca.SX, command: ca.SX, duration: float
) -> Motion:
    """Return the motion after a time with a command in effect."""
    steps = max(1, int(np.ceil(duration / LONGEST)))
    h = duration / steps
    p = {
        'servo_acceleration': ca.SX(rig.acceleration),
        'servo_speed': ca.SX(rig.speed),
        'servo_stiffness': ca.SX(rig.stiffness),
        'dead_band': ca.SX(0.0),
    }
    tilt, rate, ball, ball_rate = motion.tilt, motion.tilt_rate, motion.ball, motion.ball_rate
    for _ in range(steps):
        rate = rate + h * servo_acceleration(command, tilt, rate, p)
        before, tilt = tilt, tilt + h * rate
        pull = rig.gain * ((before + tilt) / 2 + offset)
        if rig.kinetic:
            pull -= rig.gain * rig.kinetic * ball_rate / ca.sqrt(ca.sumsqr(ball_rate) + SLOW**2)
        ball = ball + h * (ball_rate + h / 2 * pull) - rig.lever * (tilt - before)
        ball_rate = ball_rate + h * pull
    return Motion(tilt, rate, ball, ball_rate)


@dataclass(frozen=True)
class Estimate:
    """
    Estimate after a frame.

    Attributes
    ----------
    now, then
        Motion at the frame, and when the command that answers it takes effect.
    offset
        Tilt that would pull the ball as the unknown forces do [counts].
    followed
        1 while the ball is followed, 0 where it is lost.

    """

    now: Motion
    then: Motion
    offset: ca.SX
    followed: ca.SX


def estimate(
    rig: RigModel,
    z: dict[str, ca.SX],
    measurement: ca.SX,
    visible: ca.SX,
    walk: float = OFFSET,
) -> Estimate:
    """
    Return the estimate after a frame.

    Parameters
    ----------
    rig
        The rig.
    z
        State by entry; ``sent_1`` is the newest command.
    measurement, visible
        Position of the ball (2) [m], and 1 if there is one, else 0.
    walk
        Strength of the random walk of the offset [counts/sqrt(s)].

    """
    n, T = rig.periods_late, rig.period
    sent = [z[f'sent_{k + 1}'] for k in range(n + 2)]
    was = z['followed']  # 1 just after a detection, falls to 0 with frames without a ball
    motion = motion_at_frame(rig, z)
    known = was > 0
    error = measurement - motion.ball
    k_ball, k_rate, k_offset = (float(k) for k in kalman_gain(rig, walk))
    blind = visible < 0.5

    def corrected(predicted: ca.SX, gain: float, afresh: ca.SX, most: float) -> ca.SX:
        """Frames missed at the worst times would let a filter of steady gains grow for ever."""
        updated = ca.if_else(known, predicted + gain * error, afresh)
        return limited(ca.if_else(blind, predicted, updated), ca.SX(most))

    ball = corrected(motion.ball, k_ball, measurement, FARTHEST)
    ball_rate = corrected(motion.ball_rate, k_rate, ca.SX.zeros(2), FASTEST)
    offset = corrected(z['offset'], k_offset, z['offset'], STEEPEST * rig.reach)
    followed = ca.if_else(blind, ca.fmax(was - 1 / PATIENCE, 0.0), 1.0)
    followed = ca.if_else(followed < 0.5 / PATIENCE, 0.0, followed)
    now = Motion(motion.tilt, motion.tilt_rate, ball, ca.if_else(followed > 0, ball_rate, 0.0))
    commands = tuple(sent[k] for k in range(n, -1, -1))
    then = _through(rig, now, offset, commands, (rig.rest, *[T] * n))
    return Estimate(now, then, offset, followed)


def motion_at_frame(rig: RigModel, z: dict[str, ca.SX]) -> Motion:
    """Return the motion a period after the one of a state, with the commands that it holds."""
    n, T = rig.periods_late, rig.period
    sent = z[f'sent_{n + 2}'], z[f'sent_{n + 1}']
    motion = Motion(z['tilt'], z['tilt_rate'], z['ball'], z['ball_rate'])
    return _through(rig, motion, z['offset'], sent, (rig.rest, T - rig.rest))


def _through(
    rig: RigModel,
    motion: Motion,
    offset: ca.SX,
    commands: Sequence[ca.SX],
    durations: Sequence[float],
) -> Motion:
    for command, duration in zip(commands, durations, strict=True):
        if duration > 0:
            motion = advanced(rig, motion, offset, command, duration)
    return motion


def next_state(e: Estimate, z: dict[str, ca.SX], command: ca.SX) -> dict[str, ca.SX]:
    """Return the state of the estimator after a command is sent."""
    sent = [name for name in z if name.startswith('sent_')]
    moved = dict(zip(sent, [command, *(z[name] for name in sent[:-1])], strict=True))
    return {**vars(e.now), 'offset': e.offset, **moved, 'followed': e.followed}
