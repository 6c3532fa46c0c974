"""First guesses of any system: controls as a few sines, chosen so that their motion ends well."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_misses
from rolling_planner.progress import Watch
from rolling_planner.refinement.rollout import RolloutSimulator
from rolling_planner.seeds.guess import Guess
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
