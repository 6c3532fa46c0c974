"""First guesses of a plan: of an earlier plan, of the seeds of a system, or nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, PlanSeeds
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_error, goal_misses
from rolling_planner.progress import Watch
from rolling_planner.refinement.rollout import RolloutSimulator
from rolling_planner.transcription.formulation import control_limit

SINES = 6  # of each control
STARTS = 6  # random ones, until a motion reaches the goal
EVALUATIONS = 12  # Jacobians of each
UNLIMITED = 1.0  # first size of a control without a limit, in its unit
LARGE = 1e3  # what counts of a motion that runs away


def shooting_guesses(problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
    """
    Yield motions under controls that are sums of sines, each nearer to the goal than the last.

    Where a goal is reached by a loop alone, such as turning a ball by rolling it to and fro, a
    guess at rest is a singular point: no small change of it turns the ball.
    """
    from scipy.optimize import least_squares  # noqa: PLC0415  large

    simulator = RolloutSimulator(problem.system, problem.samples)
    names = problem.system.control.names
    active = [names.index(c) for c in problem.active_controls]
    limits = np.array([min(map(abs, control_limit(problem, names[k]))) for k in active])
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


ELSEWHERE = 0.05  # goal error of a plan from which on it was for another goal


@dataclass(frozen=True, eq=False)
class Guess:
    """
    Whole states and controls as functions of time, ``times (k,) -> (k, n)``.

    Attributes
    ----------
    states, controls
        The functions.
    barrier
        First barrier parameter of the solver: small for a guess that nearly holds; None for one
        that leads elsewhere, where the solver adapts it.
    name
        For the report.

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
    """First guesses of a system; a system names them by its capability ``plan_seeds``."""

    def prepare(self, problem: PlanProblem) -> None:
        """Write out and compile what the guesses need, before they are asked for."""
        ...

    def guesses(self, problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
        """Yield guesses, the most promising first; none where there is none."""
        ...


def stationary_guess(problem: PlanProblem) -> Guess:
    """Return the paper's guess: nothing moves."""
    times = np.array([0.0, problem.horizon])
    return Guess.from_samples(
        times,
        np.tile(problem.x_start, (2, 1)),
        np.zeros((2, problem.system.control.size)),
        name='stationary',
    )


def warm_guess(problem: PlanProblem, plan: Plan) -> Guess:
    """Return a plan, stretched to the horizon of the problem."""
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
        from rolling_planner.seeds.carried import carried_guesses  # noqa: PLC0415  a circle

        yield from carried_guesses(problem)
    yield stationary_guess(problem)
    if seeds is None and problem.guess == 'kinematic':
        from rolling_planner.seeds.guess import shooting_guesses  # noqa: PLC0415  a circle

        yield from shooting_guesses(problem, watch)


def prepare_guesses(problem: PlanProblem) -> None:
    """Write out and compile what the guesses need, before they are asked for."""
    seeds = _seeds(problem)
    if seeds is not None:
        seeds.prepare(problem)


def _seeds(problem: PlanProblem) -> Seeds | None:
    """Return the seeds that the system names, imported when they are wanted."""
    named = offers(problem.system, PlanSeeds)
    if problem.guess != 'kinematic' or named is None:
        return None
    module, _, name = named.plan_seeds.partition(':')
    seeds: Seeds = vars(import_module(module))[name]
    return seeds
