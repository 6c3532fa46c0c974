"""Predictive control of a rig with its delay: a quadratic program an axis a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike
from rolling_controller.ball_balancer import estimator, learned_gain
from rolling_controller.ball_balancer.estimator import (
    Estimate,
    estimate,
    held,
    Motion,
    pair,
    RigModel,
)
from rolling_controller.predictive.program import solver
from rolling_controller.step_law import VectorLaw
from rolling_dynamics.arrays import Array
from rolling_dynamics.compiled import FastFunction
from rolling_dynamics.contract.rolling_system import Entry, Layout


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
        Return the gradient by a deviation of each output, and the Hessian.

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
PLACE, RATE, TILT, EFFORT = 1e-3, 1.65e-3, 100.0, 1.0  # m, m/s, counts, maximum acceleration
RISING = 2  # power of the time with which deviations count
THERE = 14  # frames in which a ball is assumed to reach another slope of an uneven plate
BALL_RATE, TILTED, TILT_RATE = 1, 2, 3  # columns of a state
SLACK = 1e-6  # counts, for the rounding of the start


class AxisProgram:
    """
    Program that moves a ball to its set point by a servo within its limits; condensed once.

    A state is the position of the ball once the plate is level [m], its rate [m/s], tilt [counts]
    and tilt rate [counts/s]. Speed, acceleration and reach of the servo are hard limits.

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
        self._place_row = np.array([1, 0, -rig.lever, 0])  # where the ball is on the tilted plate
        late = ((np.arange(n) + 1) / n) ** RISING
        outputs = np.vstack([self._place_row, np.eye(4)[[BALL_RATE, TILTED]]])
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
            Additional force, such as rolling resistance [counts].
        rise
            Increase of the tilt at which nothing pulls the ball, from here to the set point
            [counts].

        """
        base, f, low, high = self.problem(start, goal, level, force, rise)
        found, _, flag, _ = solver()(self.H, f, self.limited, high, low)
        return base + self._forced @ found if flag > 0 else base  # unsolved: continue unchanged

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
        """Return states, gradient, and tilt rates and tilts, all linear in the request (8)."""
        start, (goal, level, force, rise) = asked[:4], asked[4:]
        base = self._free @ start + (force - level) * self._pushed - rise * self._later
        tilt_off = base[:, TILTED] - level - rise * self._way
        off = (base @ self._place_row - goal, base[:, BALL_RATE], tilt_off)
        f = sum(G @ miss for G, miss in zip(self._gradients, off, strict=True))
        return base, np.asarray(f), np.concatenate([base[:, TILT_RATE], base[:, TILTED]])


KINETIC = 0.7  # fraction of the breakaway that slows a rolling ball: a guess, rarely known
SAME_PLACE, MEMORY = 2e-4, 4  # m within which a ball stays at rest, and frames that show it
NEAR = 7e-4  # m from the set point at which a ball at rest may stay
GROWTH = 60.0  # counts/s, of the force on a ball that rests elsewhere
MOST = 1.5  # of the middle breakaway, that force at most
LONG = 1e3  # frames, at which the count of a ball at rest stops
WALK = 25.0  # counts/sqrt(s), of the offset that its map does not contain
FASTER = 0.01  # m/s at which a motion has a direction
SMALL = 1e-9  # m, below which a way has no direction
FARTHEST = 10.0  # m: a measurement beyond is not a ball
HALVINGS = 12  # of the range in which a command is looked for
LEVEL, STAY, PLAN = 0.0, 1.0, 2.0  # kinds of answers to a frame
ASKED = 8  # numbers that ask for a plan of an axis: state, set point, level tilt, force, rise


@dataclass(eq=False, kw_only=True)
class PredictiveRigLaw(VectorLaw):
    """
    The law: programs between two functions without branches, as they are exported too.

    Attributes
    ----------
    rig
        The rig, with the kinetic resistance that counts.

    """

    rig: RigModel

    opaque = 'a quadratic program an axis, solved between two functions'

    def start(self, before: Array | None = None) -> Array:  # noqa: ARG002
        """Return the memory at the start; see :class:`VectorLaw`."""
        z = np.zeros(self.state.size)
        for name, value in learned_gain.start(self.rig).items():
            z[self.state.slice(name)] = value
        return z

    @cached_property
    def before(self) -> ca.Function:
        """``(z, place, visible, goal) -> z, answer, what is asked of the programs, one a row``."""
        rig, z = self.rig, self._symbols()
        place, visible, goal = ca.SX.sym('place', 2), ca.SX.sym('seen'), ca.SX.sym('goal', 2)
        inputs = [ca.vertcat(*z.values()), place, visible, goal]
        fraction = ca.fmax(z['share'], learned_gain.RANGE[0])
        place, goal = place / fraction, goal / fraction

        def offset(at: ca.SX) -> ca.SX:
            return ca.mtimes(learned_gain.rows(at * fraction), z['map']) / fraction

        e = estimate(rig, z, place, visible, WALK)
        after = {**z, **estimator.next_state(e, z, ca.SX.zeros(2)), **_rest(z, place, visible)}
        e, after = _settled(e, z, after)
        rested, then, off = after['rested'] > 0, e.then, goal - e.then.ball
        near = ca.sqrt(ca.sumsqr(off)) < NEAR
        answer = ca.if_else(rested * near, STAY, PLAN)
        answer = ca.if_else(e.followed > 0, answer, LEVEL)
        force = _resistance(rig, after['rested'], then.ball_rate, off)
        level_ball = then.ball + rig.lever * then.tilt
        asked = ca.horzcat(
            level_ball,
            then.ball_rate,
            then.tilt,
            then.tilt_rate,
            goal,
            -e.offset - offset(then.ball) + offset(e.now.ball),
            force,
            offset(then.ball) - offset(goal),
        )
        return ca.Function(
            'before', inputs, [ca.vertcat(*after.values()), answer, ca.vec(asked.T)]
        )

    @cached_property
    def after(self) -> ca.Function:
        """``(z, place, visible, answer, wanted) -> z, command``: it sends, and learns the gain."""
        rig, z = self.rig, self._symbols()
        place, visible, answer = ca.SX.sym('place', 2), ca.SX.sym('seen'), ca.SX.sym('answer')
        wanted = ca.SX.sym('wanted', 2)
        inputs = [ca.vertcat(*z.values()), place, visible, answer, wanted]
        counts = ca.fmax(ca.fmin(ca.floor(wanted + 0.5), rig.reach), -rig.reach)
        command = ca.if_else(answer > STAY, counts, z['sent_2'])
        command = ca.if_else(answer > LEVEL, command, 0.0)
        learned = learned_gain.learn(rig, z, (place, z['tilt'], z['tilt_rate']), visible)
        # the estimate stays where the ball is
        less = z['share'] / ca.fmax(learned['share'], learned_gain.RANGE[0])
        moved = {**z, 'sent_1': command, 'ball': z['ball'] * less}
        moved['ball_rate'] = z['ball_rate'] * less
        then = place + rig.period * z['ball_rate'] * z['share']
        rows = learned_gain.rows(then) - learned_gain.rows(place)
        further = ca.mtimes(rows, z['map']) / ca.fmax(learned['share'], learned_gain.RANGE[0])
        moved['offset'] = z['offset'] + ca.if_else(visible * (z['rested'] < 0.5), further, 0.0)
        moved['places'] = ca.if_else(learned['share'] == z['share'], z['places'], 0.0)
        return ca.Function('after', inputs, [ca.vertcat(*{**moved, **learned}.values()), command])

    @cached_property
    def halved(self) -> ca.Function:
        """
        ``(tilt, its rate, wanted, low, high) -> low, high`` about half as far apart.

        Between them is the command that takes a servo to the wanted tilt in a frame.
        """
        rig, still = replace(self.rig, kinetic=0.0), ca.SX.zeros(1)
        inputs = [ca.SX.sym(name) for name in ('tilt', 'tilt_rate', 'wanted', 'low', 'high')]
        tilt, rate, wanted, low, high = inputs
        middle = (low + high) / 2
        motion = Motion(tilt, rate, still, still)
        more = estimator.advanced(rig, motion, still, middle, rig.period).tilt < wanted
        ends = [ca.if_else(more, middle, low), ca.if_else(more, high, middle)]
        return ca.Function('halved', inputs, ends)

    def _symbols(self) -> dict[str, ca.SX]:
        return {entry.name: ca.SX.sym(entry.name, entry.size) for entry in self.state.entries}

    @cached_property
    def _program(self) -> AxisProgram:
        return AxisProgram(self.rig)

    @cached_property
    def _fast(self) -> tuple[FastFunction, FastFunction, FastFunction]:
        sizes = {'z': self.state.size, 'y': self.inputs.size, 'answer': 1, 'wanted': 2}
        z, y, answer, wanted = (ca.SX.sym(name, size) for name, size in sizes.items())
        place, visible, goal = self.counted(y)
        before = ca.vertcat(*self.before(z, place, visible, goal))
        after = ca.vertcat(*self.after(z, place, visible, answer, wanted))
        functions = (
            ca.Function('before', [z, y], [ca.densify(before)]),
            ca.Function('after', [z, y, answer, wanted], [ca.densify(after)]),
            _command(self),
        )
        first, last, command = map(FastFunction, functions)
        return first, last, command

    def step(self, memory: Array, inputs: ArrayLike, t: float) -> tuple[Array, Array]:  # noqa: ARG002
        """Return memory and tilt [counts] after a frame; see :meth:`VectorLaw.start`."""
        before, after, command = self._fast
        n, wanted = memory.size, np.zeros(2)
        out = before(memory, inputs)
        if out[n] == PLAN:
            for k, asked in enumerate(out[n + 1 :].reshape(2, ASKED)):
                plan = self._program.plan(asked[:4], *asked[4:].tolist())
                wanted[k] = command(asked[2], asked[3], plan[0, TILTED])[0]
        out = after(out[:n], inputs, out[n], wanted)
        return out[:n], out[n:]


def predictive_law(rig: RigModel) -> PredictiveRigLaw:
    """Return the law for a rig, with a fraction of the middle breakaway as kinetic resistance."""
    places = [pair(f'place_{k + 1}', 'm').entries[0] for k in range(MEMORY)]
    counts = [
        Entry('places', ('places',), '', text='frames in a row with a ball, at most 4'),
        Entry('rested', ('rested',), '', text='frames since it came to rest; 0 if it rolls'),
    ]
    entries = estimator.layout(rig).entries
    return PredictiveRigLaw(
        name='predictive',
        text='predictive law: a quadratic program an axis on a Kalman filter with delay',
        period=rig.period,
        state=Layout((*entries, *places, *counts, *learned_gain.ENTRIES)),
        measurement=pair('place', 'm'),
        set_point=pair('goal', 'm'),
        output=pair('tilt', 'counts'),
        limits=(FARTHEST, FARTHEST),
        rig=replace(rig, kinetic=KINETIC * rig.breakaway),
    )


def _rest(z: Mapping[str, ca.SX], place: ca.SX, visible: ca.SX) -> dict[str, ca.SX]:
    """Return the newest places, and for how many frames the ball has been at rest."""
    names = [f'place_{k + 1}' for k in range(MEMORY)]
    newest = dict(zip(names, [place, *(z[name] for name in names[:-1])], strict=True))
    many = ca.if_else(visible, ca.fmin(z['places'] + 1, MEMORY), 0.0)
    both = ca.horzcat(*newest.values())
    stays = many > MEMORY - 0.5
    for k in range(2):
        stays *= ca.mmax(both[k, :]) - ca.mmin(both[k, :]) < SAME_PLACE
    rested = ca.if_else(stays, ca.fmin(z['rested'] + 1, LONG), 0.0)
    return {**newest, 'places': many, 'rested': rested}


def _settled(
    e: Estimate, z: Mapping[str, ca.SX], after: dict[str, ca.SX]
) -> tuple[Estimate, dict[str, ca.SX]]:
    """Return estimate and state; a ball at rest keeps its position, and teaches no offset."""
    rested = after['rested'] > 0
    mean = sum((after[f'place_{k + 1}'] for k in range(MEMORY)), ca.SX.zeros(2)) / MEMORY
    offset = ca.if_else(rested, z['offset'], e.offset)

    def at_rest(m: Motion) -> Motion:
        ball = ca.if_else(rested, mean, m.ball)
        return replace(m, ball=ball, ball_rate=ca.if_else(rested, 0.0, m.ball_rate))

    e = replace(e, now=at_rest(e.now), then=at_rest(e.then), offset=offset)
    return e, {**after, 'ball': e.now.ball, 'ball_rate': e.now.ball_rate, 'offset': offset}


def _resistance(rig: RigModel, rested: ca.SX, rate: ca.SX, off: ca.SX) -> ca.SX:
    """Return the force against the motion, or against the way to the set point [counts]."""
    rolling = rig.kinetic * rate / ca.sqrt(ca.sumsqr(rate) + FASTER**2)
    grown = ca.fmin(rig.kinetic + GROWTH * rig.period * rested, MOST * rig.breakaway)
    resting = grown * off / ca.fmax(ca.sqrt(ca.sumsqr(off)), SMALL)
    return -ca.if_else(rested > 0, resting, rolling)


def joined(f: ca.Function) -> ca.Function:
    """Return a function with its results as one vector."""
    symbols = [ca.SX.sym(f'i{k}', f.numel_in(k)) for k in range(f.n_in())]
    return ca.Function(f'rig_{f.name()}', symbols, [ca.densify(ca.vertcat(*f(*symbols)))])


def _command(law: PredictiveRigLaw) -> ca.Function:
    """Return ``(tilt, its rate, wanted) -> command`` that takes a servo there in a frame."""
    given = [ca.MX.sym(name) for name in ('tilt', 'tilt_rate', 'wanted')]
    between = [ca.MX(-law.rig.reach), ca.MX(law.rig.reach)]
    for _ in range(HALVINGS):
        between = law.halved(*given, *between)
    return ca.Function('servo_command', given, [(between[0] + between[1]) / 2])
