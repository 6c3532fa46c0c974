"""Initial guesses of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module

import numpy as np
from rolling_dynamics.contract.capabilities import offers, PlanSeeds
from rolling_planner.guess import Guess, Seeds
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.watch import Watch


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
    straight = Guess.from_samples(
        (plan.times - plan.times[0]) * stretch, plan.states, plan.controls, 1e-4, 'warm start'
    )
    return replace(straight, controls=lambda t: plan.controls_at(plan.times[0] + t / stretch))


def initial_guesses(problem: PlanProblem, watch: Watch) -> Iterator[Guess]:
    """Yield guesses, the most promising first."""
    if problem.warm_start is not None:
        yield warm_guess(problem, problem.warm_start)
    seeds = _seeds(problem)
    if seeds is not None:
        yield from seeds.guesses(problem, watch)
    yield stationary_guess(problem)


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
