"""
Initial guesses of a plan: an earlier plan, the seeds of a system, or a motion at rest.

For machines whose driven bodies carry or roll others, a guess goes straight to the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol

import casadi as ca
import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import DrivenContacts, offers, PlanSeeds
from rolling_dynamics.simulation.guards import projection
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_error, goal_misses
from rolling_planner.progress import Watch
from rolling_planner.refinement.rollout import RolloutSimulator

SINES = 6  # sines of each control
STARTS = 6  # random starts, until a motion reaches the goal
EVALUATIONS = 12  # Jacobians for each start
UNLIMITED = 1.0  # initial size of a control without a limit, in its unit
LARGE = 1e3  # cost of a motion that diverges


def shooting_guesses(problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
    """
    Yield motions under controls that are sums of sines, each closer to the goal than the last.

    If only a loop reaches the goal, such as turning a ball by rolling it back and forth, a guess
    at rest is a singular point: no small change of it turns the ball.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415  large

    simulator = RolloutSimulator(problem.system, problem.samples)
    names = problem.system.control.names
    active = [names.index(c) for c in problem.active_controls]
    limits = np.array([min(map(abs, problem.control_limit(names[k]))) for k in active])
    size = np.where(np.isfinite(limits), limits / 2, UNLIMITED)
    times = np.linspace(0.0, problem.horizon, problem.segments + 1)
    waves = np.sin(np.pi * np.outer(times / problem.horizon, np.arange(1, SINES + 1)))
    rng, best = np.random.default_rng(problem.seed), np.inf

    def controls(weights: Array) -> Array:
        out = np.zeros((len(times), len(names)))
        out[:, active] = waves @ weights.reshape(SINES, -1) * size
        return out

    def misses(weights: Array) -> Array:
        run = simulator.run(problem.p, problem.x_start, times, controls(weights))
        missed = goal_misses(problem, run.states[-1]).values()
        apart = np.concatenate([np.ravel(m) for m in missed])
        return np.asarray(np.clip(np.nan_to_num(apart, nan=LARGE), -LARGE, LARGE))

    for number in range(STARTS):
        if not watch.seeking(number, best):
            return
        first = rng.normal(size=(SINES, len(active))) / np.arange(1, SINES + 1)[:, None]
        found = least_squares(misses, first.ravel(), max_nfev=EVALUATIONS, method='trf')
        miss = float(np.linalg.norm(found.fun))
        if miss >= best:
            continue
        best, u = miss, controls(found.x)
        run = simulator.run(problem.p, problem.x_start, times, u)
        nodes = slice(None, None, problem.samples)
        yield Guess.from_samples(times, run.states[nodes], u, None, 'shooting')


ELSEWHERE = 0.05  # goal error above which a plan counts as one for another goal


@dataclass(frozen=True, eq=False)
class Guess:
    """
    Whole states and controls as functions of time, ``times (k,) -> (k, n)``.

    Attributes
    ----------
    states, controls
        The functions.
    barrier
        Initial barrier parameter of the solver: small for a guess that is nearly feasible. None
        for other guesses, for which the solver adapts it.
    name
        Name for the report.

    """

    states: Callable[[Array], Array]
    controls: Callable[[Array], Array]
    barrier: float | None = 1e-2
    name: str = ''

    @classmethod
    def from_samples(
        cls,
        times: Array,
        states: Array,
        controls: Array,
        barrier: float | None = 1e-2,
        name: str = '',
    ) -> Guess:
        """Return the guess that goes straight between states and controls at times [s]."""

        def linear(values: Array) -> Callable[[Array], Array]:
            return lambda t: np.column_stack([np.interp(t, times, v) for v in values.T])

        return cls(linear(states), linear(controls), barrier, name)


class Seeds(Protocol):
    """Initial guesses for a system; a system names them by its capability ``plan_seeds``."""

    def prepare(self, problem: PlanProblem) -> None:
        """Build and compile the functions of the guesses in advance."""
        ...

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
        """Yield guesses, the most promising first; possibly none."""
        ...


def stationary_guess(problem: PlanProblem) -> Guess:
    """Return the guess of the paper, at rest."""
    times = np.array([0.0, problem.horizon])
    return Guess.from_samples(
        times,
        np.tile(problem.x_start, (2, 1)),
        np.zeros((2, problem.system.control.size)),
        name='stationary',
    )


def warm_guess(problem: PlanProblem, plan: Plan) -> Guess:
    """Return the guess from a plan, stretched to the horizon of the problem."""
    stretch = problem.horizon / plan.duration
    barrier = None if goal_error(problem, plan.states[-1]) > ELSEWHERE else 1e-4
    straight = Guess.from_samples(
        (plan.times - plan.times[0]) * stretch, plan.states, plan.controls, barrier, 'warm start'
    )
    return replace(straight, controls=lambda t: plan.controls_at(plan.times[0] + t / stretch))


def initial_guesses(problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
    """Yield guesses, the most promising first."""
    if problem.warm_start is not None:
        yield warm_guess(problem, problem.warm_start)
    seeds = _seeds(problem)
    if seeds is not None:
        yield from seeds.guesses(problem, watch)
    elif problem.guess == 'kinematic':
        yield from carried_guesses(problem)
    yield stationary_guess(problem)
    if seeds is None and problem.guess == 'kinematic':
        yield from shooting_guesses(problem, watch)


def prepare_guesses(problem: PlanProblem) -> None:
    """Build and compile the functions of the guesses in advance."""
    seeds = _seeds(problem)
    if seeds is not None:
        seeds.prepare(problem)


def _seeds(problem: PlanProblem) -> Seeds | None:
    """Return the seeds that the system names, imported on use."""
    named = offers(problem.system, PlanSeeds)
    if problem.guess != 'kinematic' or named is None:
        return None
    module, _, name = named.plan_seeds.partition(':')
    seeds: Seeds = vars(import_module(module))[name]
    return seeds


STEPS = 20  # steps of a segment, by the midpoint rule
REACHED = 0.01  # error of a configuration (m, rad) up to which the guess is useful
HALF, WELL = 0.5, 0.9  # fraction of the remaining path that may be missed, until well along it
KEPT = 1e3  # weight of closed contacts over the path to the goal
LAST = 1 - 1e-6  # fraction of the path after which its direction is kept
BARRIER = 1e-6  # barrier of a guess that is nearly feasible


class _Straight:
    """
    Speeds for which contacts roll at constant depth and configurations go straight to a goal.

    Attributes
    ----------
    at, driven
        Indices of all speeds in the state, and of the prescribed ones, which come last.
    places
        Indices of the configurations that the goal names.

    """

    def __init__(self, problem: PlanProblem, rows: ca.Function, *names: Sequence[str]) -> None:
        """Take a problem, and the driven contacts of its machine."""
        layout, self.problem, self.rows = problem.system.state, problem, rows
        every = np.arange(layout.size)
        self.at, self.driven = (np.concatenate([every[layout.slice(n)] for n in m]) for m in names)
        self.goal, matters = problem.goal_state
        self.places = np.setdiff1d(np.flatnonzero(matters), self.at)
        self._dynamics = next(iter(problem.system.modes.values())).dynamics
        by = self._by_controls(problem.x_start)[1]
        still = np.flatnonzero(np.abs(by).max(axis=1, initial=0.0) == 0)
        self._still = np.eye(len(self.at))[still + len(self.at) - len(self.driven)]

    def _rates(self, states: Array, controls: Array) -> Array:
        """Return rates of states or under controls, each in a column."""
        return np.array(self._dynamics(states, controls, 0.0, self.problem.p))

    def __call__(self, x: Array, way: float) -> tuple[Array, Array, float]:
        """Return rate of the state, speeds, and the missed fraction of the remaining path."""
        u, n = np.zeros(self.problem.system.control.size), len(self.at)
        units = np.tile(x[:, None], n + 1)
        units[self.at] = np.eye(n, n + 1)
        columns = self._rates(units, u)
        by = columns[:, :-1] - columns[:, -1:]
        by[self.at] = 0.0
        rows, free = np.array(self.rows(x, self.problem.p)), n - len(self.driven)
        loose = np.eye(free, n)
        loose[:, :free] -= np.linalg.pinv(rows[:, :free], rcond=1e-9) @ rows[:, :free]
        kept = KEPT * np.vstack([rows, loose, self._still])
        ahead = (self.goal - x)[self.places] / (1.0 - min(way, LAST))
        wanted = np.append(np.zeros(len(kept)), ahead)
        speeds = np.linalg.lstsq(np.vstack([kept, by[self.places]]), wanted, rcond=1e-9)[0]
        missed = np.linalg.norm(by[self.places] @ speeds - ahead)
        return by @ speeds, speeds, float(missed / (np.linalg.norm(ahead) + 1e-300))

    def control(self, x: Array, acceleration: Array) -> Array:
        """Return the smallest control (m) for given rates of the prescribed speeds."""
        free, by = self._by_controls(x)
        return np.asarray(np.linalg.lstsq(by, acceleration - free, rcond=None)[0])

    def _by_controls(self, x: Array) -> tuple[Array, Array]:
        """Return rates of the prescribed speeds without control, and per active control."""
        names = self.problem.system.control.names
        units = np.diag([float(name in self.problem.active_controls) for name in names])
        columns = self._rates(x, np.column_stack([units, 0 * units[0]]))[self.driven]
        return columns[:, -1], columns[:, :-1] - columns[:, -1:]


def carried_guesses(problem: PlanProblem) -> Iterator[Guess]:
    """
    Yield the motion straight to the goal in which contacts roll and keep their depth.

    The speeds are minimal, by a polynomial of degree five in time, with rest at both ends; free
    motions of contacts are not used. No guess is yielded if the motion does not arrive, for
    example if only a loop turns a ball.
    """
    contacts = offers(problem.system, DrivenContacts)
    if contacts is None or contacts.driven_contacts is None:
        return
    straight = _Straight(problem, *contacts.driven_contacts)
    project = projection(problem.system)
    time = np.linspace(0.0, 1.0, STEPS * problem.segments + 1)
    way = time**3 * (10 - 15 * time + 6 * time**2)
    pace = 30 * time**2 * (1 - time) ** 2 / problem.horizon
    x, states = np.array(problem.x_start), []
    for k, s in enumerate(way):
        rate, speeds, missed = straight(x, s)
        if s < WELL and missed > HALF:
            return
        states.append(x.copy())
        states[-1][straight.at] = pace[k] * speeds
        if k + 1 < len(way):
            h = way[k + 1] - s
            middle, *_ = straight(x + h / 2 * rate, s + h / 2)
            x = np.array(project(x + h * middle, problem.p)).ravel()
    if np.abs((x - straight.goal)[straight.places]).max(initial=0.0) > REACHED:
        return
    path = np.array(states)
    pushed = np.gradient(path[:, straight.driven], problem.horizon * time, axis=0)[::STEPS]
    nodes = path[::STEPS]
    controls = np.array([straight.control(y, a) for y, a in zip(nodes, pushed, strict=True)])
    times = problem.horizon * time[::STEPS]
    yield Guess.from_samples(times, nodes, controls, BARRIER, 'carried')
