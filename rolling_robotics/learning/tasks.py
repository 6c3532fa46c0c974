"""Tasks for learners: flip-up, paths, a ball on a plate, the goal of any scenario."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
import math
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers
from rolling_dynamics.errors import ParameterError
from rolling_dynamics.scenario import load_scenario, Scenario
from rolling_planner.problem.scenario import read_problem
from rolling_robotics.scene.scene import rotation_matrices
from scipy.spatial.transform import Rotation

Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """
    Some numbers of an observation.

    Attributes
    ----------
    name, unit
        Name and SI unit; empty for numbers without a unit.
    size
        Number of values.
    most
        Maximum absolute value; larger ones are cut to it.

    """

    name: str
    unit: str
    size: int
    most: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Batch:
    """
    Many motions at one moment: a row each.

    Attributes
    ----------
    states, parameters, goals
        Shapes (size, state.size), (size, parameters.size) and (size, k); goals as the task drew
        them.
    times
        Time since the start of the episode [s], shape (size,).

    """

    states: Array
    parameters: Array
    goals: Array
    times: Array


@dataclass(frozen=True, eq=False, kw_only=True)
class Verdict:
    """
    Reward and end of a step.

    Attributes
    ----------
    reward
        Shape (size,), from 0 to 1: without negative ones, no policy gains by ending early.
    success
        Whether the goal is met now.
    failed
        Whether the episode ends; the system's guards end it too.

    """

    reward: Array
    success: Flags
    failed: Flags


class Task(ABC):
    """
    A task on one system; its docstring explains the reward and the end of an episode.

    Attributes
    ----------
    described
        The scenario that has the system: its name, or the content of its file.
    dt, max_step
        Time for which an action is held, and maximum step of the simulation [s].
    steps
        Actions in an episode.
    actions
        Component of the control -> its value for an action of 1; the others are zero.
    observed
        The entries of an observation, in order.

    """

    described: ClassVar[str | Mapping[str, Any]]
    dt: ClassVar[float]
    max_step: ClassVar[float]
    steps: ClassVar[int]
    actions: ClassVar[Mapping[str, float]]
    observed: ClassVar[tuple[Observed, ...]]

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario, read once."""
        return replace(load_scenario(self.described), name=type(self).__name__)

    def of(self, batch: Batch, entry: str) -> Array:
        """Return an entry of the state, shape (size, its size)."""
        return batch.states[:, self.scenario.system.state.slice(entry)]

    @abstractmethod
    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state to start from and a goal, drawn at random."""

    @abstractmethod
    def observe(self, batch: Batch) -> Array:
        """
        Return observations without noise or delay.

        Shape (size, n), units as in ``observed``.
        """

    @abstractmethod
    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """Return reward and end of a step, after it; ``actions`` [1] have shape (size, m)."""


def near(distance: Array, scale: float) -> Array:
    """
    Return 1 at a distance of zero, 0.24 at the scale, and 0 far away; both in one unit.

    A fraction in the shape of the distance.
    """
    return np.asarray(1 - np.tanh(distance / scale))


def less_effort(actions: Array) -> Array:
    """Return 1 without action, 0.9 where all are at their limits; actions [1]: shape (size, m)."""
    return np.asarray(1 - 0.1 * np.mean(actions**2, axis=1))


def one_sided(quaternions: Array) -> Array:
    """Return unit quaternions of which none has a negative real part."""
    return np.where(quaternions[:, :1] < 0, -quaternions, quaternions)


def circling(goals: Array, times: Array) -> tuple[Array, Array]:
    """
    Return place and velocity of targets on circles.

    Parameters
    ----------
    goals
        Centre x, y and radius [m], angle at the start [rad], angular velocity [rad/s], in the
        first five columns; of radius zero, a target at rest.
    times
        Time since the start [s].

    """
    angle = goals[:, 3] + goals[:, 4] * times
    along = np.column_stack([np.cos(angle), np.sin(angle)])
    across = np.column_stack([-np.sin(angle), np.cos(angle)])
    radius, rate = goals[:, 2:3], goals[:, 4:5]
    return goals[:, :2] + radius * along, radius * rate * across


SHIFT, TURN = 5e-3, 0.05  # of starts [m], [rad]: as in the laboratory's imperfections


class FlipUpEllipse(Task):
    """
    Task: roll an ellipse, which lies flat on a hand in a plane, up onto its end.

    Woodruff & Lynch, Section VIII-D. Actions are the accelerations of the hand along its axes x
    and z, in 10 m/s^2, and its angular acceleration, in 100 rad/s^2. The reward is the square of
    half of 1 + cos of the angle from upright: 0.25 for a lying ellipse, 1 for an upright one. An
    episode ends if it slips, flies or rolls over the edge, or if the hand leaves a square of 0.6 m
    or is inclined by more than 1.2 rad. Success: within 0.1 rad, 1 rad/s and 0.2 m/s.
    """

    described = 'laboratory_flip_up'
    dt, max_step, steps = 0.01, 2e-3, 200
    actions: ClassVar = {'a_WH_H_x': 10.0, 'a_WH_H_z': 10.0, 'alpha_WH_H_y': 100.0}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='place of the hand, x and z in W', unit='m', size=2, most=1.0),
        Observed(name='velocity of the hand, x and z in H', unit='m/s', size=2, most=20.0),
        Observed(name='cosine and sine of the hand', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the hand', unit='rad/s', size=1, most=200.0),
        Observed(name='contact on the hand', unit='m', size=1, most=1.0),
        Observed(name='cosine and sine of the object, in W', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the object in H', unit='rad/s', size=1, most=500.0),
    )
    reach, steepest = 0.3, 1.2  # of the hand [m], [rad]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return the state of an ellipse that lies a little off its place; the goal is fixed."""
        state = self.scenario.system.state
        x = self.scenario.x0.copy()
        x[state.slice('contact_h')] += [rng.uniform(-SHIFT, SHIFT), 0.0]
        angle = -math.pi / 2 + rng.uniform(-TURN, TURN)
        x[state.slice('q_HO')] = [math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0]
        return x, np.zeros(0)

    def observe(self, batch: Batch) -> Array:
        """Return how hand and object stand and move, shape (size, n), units as in ``observed``."""
        place, velocity = self.of(batch, 'p_WH'), self.of(batch, 'v_WH_H')
        hand, whole = self._angles(batch)
        return np.column_stack(
            [
                place[:, [0, 2]],
                velocity[:, [0, 2]],
                np.cos(hand),
                np.sin(hand),
                self.of(batch, 'w_WH_H')[:, 1],
                self.of(batch, 'contact_h')[:, 0],
                np.cos(whole),
                np.sin(whole),
                self.of(batch, 'w_HO_H')[:, 1],
            ]
        )

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """
        Reward standing; fail where the hand leaves its space.

        Actions [1] have shape (size, m).
        """
        hand, whole = self._angles(batch)
        turning = self.of(batch, 'w_WH_H')[:, 1] + self.of(batch, 'w_HO_H')[:, 1]
        speed = np.linalg.norm(self.of(batch, 'v_WH_H'), axis=1)
        out = np.abs(self.of(batch, 'p_WH')).max(axis=1) > self.reach
        return Verdict(
            reward=((1 + np.cos(whole)) / 2) ** 2 * less_effort(actions),
            success=(np.cos(whole) > math.cos(0.1)) & (np.abs(turning) < 1) & (speed < 0.2),
            failed=out | (np.abs(hand) > self.steepest),
        )

    def _angles(self, batch: Batch) -> tuple[Array, Array]:
        """Return the angles of the hand and of the object about y of W [rad]."""
        hand, inside = (_about_y(self.of(batch, name)) for name in ('q_WH', 'q_HO'))
        return hand, hand + inside


def _about_y(q: Array) -> Array:
    """Return the angle of rotations about y, from -pi to pi [rad]."""
    angle = 2 * np.arctan2(q[:, 2], q[:, 0])
    return np.asarray((angle + math.pi) % (2 * math.pi) - math.pi)


class PendulumSphere(Task):
    """
    A sphere with a pendulum inside follows a target round a circle of 1 m at 0.3 m/s.

    Actions are the torque between shell and pendulum along the axes of W, in 0.6 N m. The reward
    is near 1 at the target and 0.24 at 0.2 m. An episode ends where the shell slips or leaves the
    floor. Success is 50 mm.
    """

    described = 'pendulum_compare'
    dt, max_step, steps = 0.05, 5e-3, 300
    actions: ClassVar = {'tau_W_x': 0.6, 'tau_W_y': 0.6, 'tau_W_z': 0.6}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='contact from the target', unit='m', size=2, most=100.0),
        Observed(name='velocity of the target', unit='m/s', size=2, most=10.0),
        Observed(name='angular velocity of the shell, in W', unit='rad/s', size=3, most=200.0),
        Observed(name='attitude of the pendulum, wxyz', unit='', size=4, most=1.0),
        Observed(name='angular velocity of the pendulum, in W', unit='rad/s', size=3, most=200.0),
    )
    radius, speed = 1.0, 0.3  # of the path [m], of the target [m/s]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state at rest, and as goal a circle that goes off in any direction."""
        x = self.scenario.x0.copy()
        angle = rng.uniform(-math.pi, math.pi)
        here = x[self.scenario.system.state.slice('contact')]
        centre = here - self.radius * np.array([math.cos(angle), math.sin(angle)])
        return x, np.array([*centre, self.radius, angle, self.speed / self.radius])

    def observe(self, batch: Batch) -> Array:
        """
        Return the offset from the target, and how shell and pendulum stand and move.

        Shape (size, n), units as in ``observed``.
        """
        target, moves = circling(batch.goals, batch.times)
        offset = self.of(batch, 'contact') - target
        pendulum = one_sided(self.of(batch, 'q_WP'))
        shell, swing = self.of(batch, 'w_WS_W'), self.of(batch, 'w_WP_W')
        return np.hstack([offset, moves, shell, pendulum, swing])

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """Reward a small distance; actions [1] have shape (size, m)."""
        target, _ = circling(batch.goals, batch.times)
        distance = np.linalg.norm(self.of(batch, 'contact') - target, axis=1)
        return Verdict(
            reward=near(distance, 0.2) * less_effort(actions),
            success=distance < 0.05,
            failed=np.zeros(len(distance), bool),
        )


class PointMassBall(Task):
    """
    A ball with three masses on rails inside follows a target along an S at 0.3 m/s.

    Actions are the accelerations of the masses along their rails, in 50 rad/s^2. The reward is
    near 1 at the target and 0.24 at 0.1 m. An episode ends where the ball slips or leaves the
    floor, and where a mass turns by more than 60 rad/s. Success is 20 mm.
    """

    described = 'point_mass_s_path'
    dt, max_step, steps = 0.02, 5e-3, 500
    actions: ClassVar = {f'theta_acceleration_{k}': 50.0 for k in (1, 2, 3)}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='along and aside, from the target', unit='m', size=2, most=100.0),
        Observed(name='cosines of the masses on their rails', unit='', size=3, most=1.0),
        Observed(name='sines of the masses on their rails', unit='', size=3, most=1.0),
        Observed(name='rates of the masses', unit='rad/s', size=3, most=200.0),
        Observed(name='attitude of the ball, wxyz', unit='', size=4, most=1.0),
        Observed(name='angular velocity of the ball, in B', unit='rad/s', size=3, most=200.0),
    )
    speed, fastest = 0.3, 60.0  # of the target [m/s], of a mass [rad/s]

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state at rest, a little off the path, which is always the same."""
        x = self.scenario.x0.copy()
        x[self.scenario.system.state.slice('path')] += [0.0, rng.uniform(-0.02, 0.02)]
        return x, np.zeros(0)

    def observe(self, batch: Batch) -> Array:
        """
        Return the offset from the target, and how masses and ball stand and move.

        Shape (size, n), units as in ``observed``.
        """
        theta = self.of(batch, 'theta')
        attitude = one_sided(self.of(batch, 'q_WB'))
        rates, w = self.of(batch, 'theta_rate'), self.of(batch, 'w_WB_B')
        offset = self._offset(batch)
        return np.hstack([offset, np.cos(theta), np.sin(theta), rates, attitude, w])

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """
        Reward a small distance; fail where a mass is too fast.

        Actions [1] have shape (size, m).
        """
        distance = np.linalg.norm(self._offset(batch), axis=1)
        return Verdict(
            reward=near(distance, 0.1) * less_effort(actions),
            success=distance < 0.02,
            failed=np.abs(self.of(batch, 'theta_rate')).max(axis=1) > self.fastest,
        )

    def _offset(self, batch: Batch) -> Array:
        """Return how far along and aside of the target the ball is [m]."""
        along, aside = self.of(batch, 'path').T
        return np.column_stack([along - self.speed * batch.times, aside])


TARGETS = ('point', 'circle')
STEEPEST = math.cos(0.5)  # of the plate


class BallOnPlate(Task):
    """
    Task: bring a ball of 0.1 m radius to a target on a plate, or follow it along a circle.

    Actions are the angular accelerations of the plate about its axes x and y, in 10 rad/s^2. The
    reward is near 1 within some centimetres of the target and 0.24 at 0.1 m. It is a tenth less
    where actions are at their limits, so that a steady plate is better than a trembling one. An
    episode ends if the ball slips, leaves the plate or rolls over its edge, or if the plate is
    inclined by more than 0.5 rad, beyond the range of real plates. Success is 5 mm.
    """

    described = 'ball_on_plate_hard'
    dt, max_step, steps = 0.02, 5e-3, 250
    actions: ClassVar = {'alpha_WH_H_x': 10.0, 'alpha_WH_H_y': 10.0}
    observed: ClassVar[tuple[Observed, ...]] = (
        Observed(name='ball from the target, in H', unit='m', size=2, most=1.0),
        Observed(name='velocity of the ball in H', unit='m/s', size=2, most=10.0),
        Observed(name='normal of the plate, x and y in W', unit='', size=2, most=1.0),
        Observed(name='angular velocity of the plate', unit='rad/s', size=2, most=20.0),
        Observed(name='velocity of the target in H', unit='m/s', size=2, most=10.0),
    )
    reach, speed = 0.15, 0.1  # of starts and targets [m], of starts [m/s]
    circle, rate = 0.1, 1.0  # of the target [m], [rad/s]

    def __init__(self, *, target: str = 'point') -> None:
        """Take a target that rests (``point``) or moves along a ``circle``."""
        if target not in TARGETS:
            raise ParameterError(f'target must be one of {TARGETS}, got {target!r}')
        self.moves = target == 'circle'

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """
        Return the state of a ball that rolls on a level plate, and a circle as goal.

        A circle of radius zero is a point.
        """
        scenario, state = self.scenario, self.scenario.system.state
        x = scenario.x0.copy()
        x[state.slice('contact_h')] = rng.uniform(-self.reach, self.reach, 2)
        x[state.slice('q_HO')] = _unit(rng.normal(size=4))
        vx, vy = rng.uniform(-self.speed, self.speed, 2)
        radius = float(scenario.p[scenario.system.parameters.slice('object_surface')][0])
        x[state.slice('w_HO_H')] = [-vy / radius, vx / radius, 0.0]
        place, angle = rng.uniform(-self.reach, self.reach, 2), rng.uniform(-math.pi, math.pi)
        if not self.moves:
            return x, np.array([*place, 0.0, angle, 0.0])
        return x, np.array([0.0, 0.0, self.circle, angle, self.rate])

    def observe(self, batch: Batch) -> Array:
        """
        Return place and velocity of the ball, how the plate stands and turns, the target's.

        Shape (size, n), units as in ``observed``.
        """
        target, moves = circling(batch.goals, batch.times)
        normal = rotation_matrices(self.of(batch, 'q_WH'))[:, :2, 2]
        turning = self.of(batch, 'w_WH_H')[:, :2]
        place = self.of(batch, 'contact_h') - target
        return np.hstack([place, self._velocity(batch), normal, turning, moves])

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """
        Reward a small distance; fail where the plate is too steep.

        Actions [1] have shape (size, m).
        """
        distance = self._distance(batch)
        return Verdict(
            reward=near(distance, 0.1) * less_effort(actions),
            success=distance < 5e-3,
            failed=rotation_matrices(self.of(batch, 'q_WH'))[:, 2, 2] < STEEPEST,
        )

    def _distance(self, batch: Batch) -> Array:
        target, _ = circling(batch.goals, batch.times)
        return np.asarray(np.linalg.norm(self.of(batch, 'contact_h') - target, axis=1))

    def _velocity(self, batch: Batch) -> Array:
        """Return the velocity of the contact point in H: the radius times w, turned."""
        radius = batch.parameters[:, self.scenario.system.parameters.slice('object_surface')]
        w = self.of(batch, 'w_HO_H')
        return radius * np.column_stack([w[:, 1], -w[:, 0]])


class ReorientBall(BallOnPlate):
    """
    As BallOnPlate, and the ball has an attitude to come to: it has to roll round loops.

    The observation has the rotation from the ball's attitude to the goal's, a rotation
    vector in H, too. The reward of the place counts in full at the attitude, not at half a turn.
    Success is 5 mm and 0.1 rad.
    """

    steps = 500
    observed: ClassVar[tuple[Observed, ...]] = (
        *BallOnPlate.observed,
        Observed(name='rotation to the goal, in H', unit='rad', size=3, most=math.pi),
    )

    def __init__(self) -> None:
        """Take a target that rests."""
        super().__init__()

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state, and a target with an attitude, a quaternion uniform in SO(3)."""
        x, goal = super().start(rng)
        return x, np.array([*goal, *_unit(rng.normal(size=4))])

    def observe(self, batch: Batch) -> Array:
        """
        Return what BallOnPlate does, and the rotation that is missing [rad].

        Shape (size, n).
        """
        return np.hstack([super().observe(batch), self._missing(batch)])

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """Reward a small distance of place and attitude; actions [1] have shape (size, m)."""
        place = super().judge(batch, actions)
        angle = np.linalg.norm(self._missing(batch), axis=1)
        return Verdict(
            reward=place.reward * (1 - angle / math.pi),
            success=place.success & (angle < 0.1),
            failed=place.failed,
        )

    def _missing(self, batch: Batch) -> Array:
        """Return the rotation vector that takes the ball to its goal, the short way."""
        goal, here = (
            Rotation.from_quat(q[:, [1, 2, 3, 0]])
            for q in (batch.goals[:, 5:9], self.of(batch, 'q_HO'))
        )
        return np.asarray((goal * here.inv()).as_rotvec())


def _unit(q: Array) -> Array:
    """Return a vector of length 1."""
    return np.asarray(q / np.linalg.norm(q))


SPREAD = 0.02  # of starts, over the scale of an entry
ARRIVED = 0.1  # of its scale, within which each entry of a goal is reached
MOST = 1e3  # maximum observation, in the unit of an entry


class _Closed(Protocol):
    def placed(self, p: ArrayLike, x: ArrayLike) -> Array:
        """Return the nearest state with closed contacts that roll."""


class ReachGoal(Task):
    """
    Task: reach the goal of the section ``plan`` of any scenario.

    Observations are the deviations of all entries from the goal, in tangent units. Actions are the
    controls over their limits, or over one without a limit. Deviations in the entries of the goal
    count over the scales of these entries: the reward is 0.24 for the deviations at the start, and
    near 1 at the goal. Guards of the system end an episode. Success: each within a tenth of its
    scale.
    """

    dt, max_step, steps = 0.02, 2e-3, 500

    def __init__(self, *, scenario: str | Mapping[str, Any] = 'ball_on_plate_hard') -> None:
        """Take a scenario, by its file, its name or its entries."""
        self.described = scenario  # type: ignore[misc]  # of this task, not of the class
        found = load_scenario(scenario)
        problem = read_problem(found)
        if problem.object_goal:
            raise ParameterError(
                f'goal.{next(iter(problem.object_goal))}: this environment takes goals of the '
                'state, not of the object in the world'
            )
        system, x0 = found.system, found.x0
        goal, matters = problem.goal_state
        self._goal, self._difference, self._retract = goal, system.difference, system.retract
        self._scale = np.array([e.scale for e in system.tangent.entries for _ in range(e.size)])
        self._counted = np.zeros(system.tangent.size, dtype=bool)
        for entry, turn in zip(system.state.entries, system.tangent.entries, strict=True):
            named, where = matters[system.state.slice(entry.name)], system.tangent.slice(turn.name)
            self._counted[where] = named.any() if entry.kind == 'quaternion' else named
            if entry.name in problem.free_axes:
                self._counted[where.start + problem.free_axes[entry.name]] = False
        self._far = max(float(self._distance(self._errors(x0[None]))[0]), ARRIVED)

    @cached_property
    def actions(self) -> Mapping[str, float]:  # type: ignore[override]
        """Component of the control -> its limit, one where it has none."""
        names, limits = self.scenario.system.control.names, self.scenario.control_limits
        most = np.full(len(names), np.inf) if limits is None else np.asarray(limits, dtype=float)
        return dict(zip(names, np.where(np.isfinite(most), most, 1.0).tolist(), strict=True))

    @cached_property
    def observed(self) -> tuple[Observed, ...]:  # type: ignore[override]
        """Deviations from the goal, an entry each of the tangent space."""
        return tuple(
            Observed(name=f'{e.name} from the goal', unit=e.unit, size=e.size, most=MOST)
            for e in self.scenario.system.tangent.entries
        )

    def start(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return a state near the start of the scenario; the goal is its own."""
        d = SPREAD * np.where(self._counted, self._scale, 0.0)
        d *= rng.uniform(-1, 1, d.size)
        closed = offers(self.scenario.system, _Closed)
        for nearer in (1.0, 0.1, 0.01, 0.0):  # until contacts that closed at the start close
            x = np.array(self._retract(self.scenario.x0, nearer * d)).ravel()
            with suppress(ParameterError):
                return x if closed is None else closed.placed(self.scenario.p, x), np.zeros(0)
        return x, np.zeros(0)

    def observe(self, batch: Batch) -> Array:
        """Return the deviations from the goal, shape (size, n), units as in ``observed``."""
        return self._errors(batch.states)

    def judge(self, batch: Batch, actions: Array) -> Verdict:
        """Reward a small deviation from the goal; actions [1] have shape (size, m)."""
        errors = self._errors(batch.states)
        within = np.abs(errors) <= ARRIVED * self._scale
        return Verdict(
            reward=near(self._distance(errors), self._far) * less_effort(actions),
            success=np.asarray((within | ~self._counted).all(axis=1)),
            failed=np.zeros(len(errors), dtype=bool),
        )

    def _errors(self, states: Array) -> Array:
        goals = np.tile(self._goal[:, None], len(states))
        return np.array(self._difference(states.T, goals)).T

    def _distance(self, errors: Array) -> Array:
        columns = (errors / self._scale).T[self._counted]
        out = np.zeros(len(errors))
        for column in columns:  # in one order, however many motions there are
            out += column**2
        return np.sqrt(out)
