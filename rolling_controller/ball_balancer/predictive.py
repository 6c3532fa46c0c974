"""
Predictive control of a rig with its delay: a quadratic program an axis a frame.

It begins where the Kalman filter expects ball and tilt when the next command takes effect, with
rolling resistance against the motion. A ball that rests near its set point is left alone; one that
rests elsewhere is pushed with a force that grows until it breaks away.

For a rig that is found to be stronger than was told, places are divided by how much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_controller.ball_balancer import estimator
from rolling_controller.ball_balancer.axis_program import AxisProgram, TILTED
from rolling_controller.ball_balancer.estimator import estimate, Motion
from rolling_controller.ball_balancer.learned_gain import LearnedGain
from rolling_controller.ball_balancer.rig_model import RigModel
from rolling_dynamics.compiled import FastFunction

Array = NDArray[np.float64]
KINETIC = 0.5  # share of the breakaway that slows a rolling ball, as `rolling identify` finds it
SAME_PLACE, MEMORY = 2e-4, 4  # m within which a ball stays at rest, and frames that tell it
NEAR = 7e-4  # m from the set point at which a ball at rest may stay
GROWTH = 60.0  # counts/s, of the force on a ball that rests elsewhere
MOST = 1.5  # of the middle breakaway, that force at most
FASTER = 0.01  # m/s at which a motion has a direction
FARTHEST = 10.0  # m: what is measured beyond is no ball
HALVINGS = 12  # of the range in which a command is looked for


@dataclass(frozen=True)
class PredictiveRigLaw:
    """
    The law; it runs here, and is not exported.

    Attributes
    ----------
    rig
        The rig, with the kinetic resistance that counts.

    """

    rig: RigModel

    @property
    def period(self) -> float:
        """Time between two steps [s]."""
        return self.rig.period

    def start(self) -> RunningPredictive:
        """Return the law at its start."""
        return RunningPredictive(self.rig)


def predictive_law(rig: RigModel) -> PredictiveRigLaw:
    """Return the law for a rig, with a share of the middle breakaway as kinetic resistance."""
    return PredictiveRigLaw(replace(rig, kinetic=KINETIC * rig.breakaway))


class Expected(NamedTuple):
    """Tilt, its rate [counts], ball, its rate [m], offset [counts], 2 each; 1 while followed."""

    tilt: Array
    tilt_rate: Array
    ball: Array
    ball_rate: Array
    offset: Array
    followed: float


class RunningPredictive:
    """The law with its state."""

    def __init__(self, rig: RigModel) -> None:
        """Make the program and the estimator."""
        self._rig, self._layout = rig, estimator.layout(rig)
        self._program = AxisProgram(rig)
        self._estimate = FastFunction(_estimate(rig))
        self._command = FastFunction(_command(rig))
        self._learned = LearnedGain(rig)
        self.begin()

    def begin(self) -> None:
        """Go back to the start."""
        self._learned.begin()
        self._z = np.zeros(self._layout.size)
        self._places: list[Array] = []
        self._rested = 0  # frames since the ball came to rest; 0 while it rolls

    def step(self, measurement: ArrayLike, set_point: ArrayLike) -> Array:
        """Return the tilt [counts] after a frame; see :meth:`RunningLaw.step`."""
        place, goal = np.asarray(measurement, dtype=float), np.asarray(set_point, dtype=float)
        if not np.all(np.abs(goal) < FARTHEST):
            goal = np.zeros(2)
        share = self._learned.share
        e, goal = self._expected(place / share), goal / share
        sent = self._z[self._layout.slice('sent_2')]
        if not e.followed:
            command = np.zeros(2)
        elif self._rested and np.hypot(*(goal - e.ball)) < NEAR:
            command = sent
        else:
            command = self._planned(e, goal, self._resistance(e, goal - e.ball))
        self._z[self._layout.slice('sent_1')] = command
        self._learn(place)
        return command.copy()

    def _learn(self, place: Array) -> None:
        """Learn the gain from a frame, and keep the estimate where the ball is if it changes."""
        z, at, learned = self._z, self._layout.slice, self._learned
        if not np.all(np.abs(place) < FARTHEST):
            learned.missed()
            return
        before = learned.share
        learned.saw(place, z[at('tilt')].copy(), z[at('tilt_rate')].copy())
        if learned.share != before:
            z[at('ball')] *= before / learned.share
            z[at('ball_rate')] *= before / learned.share
            self._places = []

    def _expected(self, place: Array) -> Expected:
        """Return the estimate after a frame; of a ball at rest the offset is not learned."""
        z, n, at = self._z, self._layout.size, self._layout.slice
        seen = bool(np.all(np.abs(place) < FARTHEST))  # false for what is not a number
        offset = z[at('offset')].copy()
        out = self._estimate(z, place if seen else np.zeros(2), float(seen)).copy()
        self._z = z = out[:n]
        told = out[n:]
        e = Expected(told[:2], told[2:4], told[4:6], told[6:8], told[8:10], float(told[10]))
        self._places = [*self._places, place][-MEMORY:] if seen else []
        stays = np.ptp(self._places, axis=0).max() < SAME_PLACE if seen else False
        self._rested = self._rested + 1 if stays and len(self._places) == MEMORY else 0
        if not self._rested:
            return e
        ball = np.mean(self._places, axis=0)
        z[at('ball')], z[at('ball_rate')], z[at('offset')] = ball, 0.0, offset
        return e._replace(ball=ball, ball_rate=np.zeros(2), offset=offset)

    def _resistance(self, e: Expected, off: Array) -> Array:
        """Return the force against the motion, or against the way to the set point [counts]."""
        rig, rate = self._rig, e.ball_rate
        if not self._rested:
            return np.asarray(-rig.kinetic * rate / np.hypot(np.hypot(*rate), FASTER))
        grown = rig.kinetic + GROWTH * rig.period * self._rested
        return np.asarray(-min(grown, MOST * rig.breakaway) * off / np.hypot(*off))

    def _planned(self, e: Expected, goal: Array, force: Array) -> Array:
        """Return the command that takes the servos to the tilt planned for a frame later."""
        rig, out = self._rig, np.zeros(2)
        for k in range(2):
            level_ball = e.ball[k] + rig.lever * e.tilt[k]
            start = np.array([level_ball, e.ball_rate[k], e.tilt[k], e.tilt_rate[k]])
            plan = self._program.plan(start, goal[k], -e.offset[k], force[k])
            out[k] = self._command(e.tilt[k], e.tilt_rate[k], plan[0, TILTED])[0]
        return np.asarray(np.clip(np.round(out), -rig.reach, rig.reach))


def _estimate(rig: RigModel) -> ca.Function:
    """Return ``(z, place, seen) -> z with a free first command, Expected`` as one vector."""
    layout = estimator.layout(rig)
    z = {entry.name: ca.SX.sym(entry.name, entry.size) for entry in layout.entries}
    place, seen = ca.SX.sym('place', 2), ca.SX.sym('seen')
    e = estimate(rig, z, place, seen)
    after, m = estimator.next_state(e, z, ca.SX.zeros(2)), e.then
    moved = [after[entry.name] for entry in layout.entries]
    told = [m.tilt, m.tilt_rate, m.ball, m.ball_rate, e.offset, e.followed]
    inputs = [ca.vertcat(*z.values()), place, seen]
    return ca.Function('rig_estimate', inputs, [ca.densify(ca.vertcat(*moved, *told))])


def _command(rig: RigModel) -> ca.Function:
    """Return ``(tilt, its rate, wanted) -> command`` that takes a servo there in a frame."""
    names = ('tilt', 'tilt_rate', 'wanted', 'low', 'high')
    tilt, rate, wanted, low, high = (ca.SX.sym(name) for name in names)
    middle, still = (low + high) / 2, ca.SX.zeros(1)
    servo = replace(rig, kinetic=0.0)
    end = estimator.advanced(servo, Motion(tilt, rate, still, still), still, middle, rig.period)
    more = end.tilt < wanted
    ends = [ca.if_else(more, middle, low), ca.if_else(more, high, middle)]
    halved = ca.Function('halved', [tilt, rate, wanted, low, high], ends)
    given = [ca.MX.sym(name) for name in names[:3]]
    between = [ca.MX(-rig.reach), ca.MX(rig.reach)]
    for _ in range(HALVINGS):
        between = halved(*given, *between)
    return ca.Function('servo_command', given, [(between[0] + between[1]) / 2])
