"""
Planning by samples: the cross-entropy method on batches.

It suits motions through several modes, in which an object slides, flies and lands. The result of
such a motion is discontinuous in the controls, so that collocation has no gradient of it.

De Boer, Kroese, Mannor & Rubinstein, "A tutorial on the cross-entropy method", Annals of
Operations Research 134, 2005; elites are kept as in Pinneri et al., "Sample-efficient
cross-entropy method for real-time planning", CoRL 2020.
"""

from __future__ import annotations

import math
import time

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.batch import BatchSimulator
from rolling_dynamics.errors import ParameterError, PlanningError
from rolling_dynamics.simulation import simulate
from rolling_planner.plan import HOLD, Plan
from rolling_planner.problem.goal import goal_error
from rolling_planner.problem.plan_problem import BY_SAMPLES, PlanProblem
from rolling_planner.progress import Iteration, Report, Watch

SAMPLES, ELITES, KEPT = 40, 6, 2  # samples of a generation; elites; elites that are kept
FIRST = 0.25  # standard deviation of the first generation, as a fraction of a control's range
FOLLOWED = 0.7  # fraction by which mean and deviation follow the elites
FLOOR = 0.5  # minimum deviation per goal error, as a fraction of the first one
LOST = 100.0  # cost of a motion that ends early
RTOL, ATOL = 1e-9, 1e-11


def plan_by_samples(problem: PlanProblem, on_iteration: Report | None = None) -> Plan:
    """
    Return a plan whose controls are held, each for an equal part of the horizon.

    The first generation is centred on ``warm_start``, or on zero control. The end of the plan,
    simulated again, is within ``goal_tolerance`` of the goal.

    Parameters
    ----------
    problem
        Problem with limits for all active controls. ``segments``, ``iterations`` (generations),
        ``seed``, ``time_budget`` and ``weights.control`` are used; limits of states and margins of
        contact are not.
    on_iteration
        Called after each generation; False cancels.

    Raises
    ------
    ParameterError
        An active control has no limits.
    PlanningError
        No sample came close enough to the goal.
    CancelledError
        ``on_iteration`` returned False.

    """
    watch, began = Watch(on_iteration, problem.time_budget), time.process_time()
    generations = _Generations(problem)
    for number in range(problem.iterations):
        error = generations.improve()
        watch.report(Iteration(number, problem.segments, generations.cost, error, error))
        if error <= 0.5 * problem.goal_tolerance or watch.expired:
            break
    plan = _simulated(problem, generations.best)
    error = goal_error(problem, plan.states[-1])
    if not error <= problem.goal_tolerance:
        raise PlanningError(
            f'no plan: {number + 1} generations of {SAMPLES} samples came to a goal error of '
            f'{error:.3g}, the tolerance is {problem.goal_tolerance:g}; allow more iterations, '
            'another horizon, wider control_limits, or start with a hand_motion that comes closer'
        )
    plan.report.update(
        method=BY_SAMPLES,
        segments=problem.segments,
        iterations=number + 1,
        cost=generations.cost,
        goal_error=error,
        cpu_seconds=time.process_time() - began,
    )
    return plan


class _Generations:
    """
    Search for controls that come closer to the goal.

    Attributes
    ----------
    best, cost
        The best controls so far, shape (segments, m), and their cost.

    """

    def __init__(self, problem: PlanProblem) -> None:
        self._problem, self._rng = problem, np.random.default_rng(problem.seed)
        low, high = _limits(problem)
        self._middle, self._half = (high + low) / 2, (high - low) / 2
        self._active = [problem.system.control.names.index(n) for n in problem.active_controls]
        k, m = problem.segments, len(self._active)
        given = problem.warm_start
        start = np.zeros((k, m)) if given is None else _in_parts(given, k)[:, self._active]
        self._mean = np.clip((start - self._middle) / self._half, -1, 1)  # fractions of the range
        self._deviation = np.full((k, m), FIRST)
        self._elites = np.zeros((0, k, m))
        self._batch = BatchSimulator(
            problem.system, SAMPLES, problem.horizon / k, method='DOP853', rtol=RTOL, atol=ATOL
        )
        self.best, self.cost, self._best_error = self._controls(self._mean), math.inf, math.inf
        self._first_error = 0.0

    def improve(self) -> float:
        """Try a generation; return the goal error of the best controls so far."""
        shape = (SAMPLES - len(self._elites), *self._mean.shape)
        drawn = self._mean + self._deviation * self._rng.standard_normal(shape)
        drawn[0] = self._mean
        fractions = np.concatenate([np.clip(drawn, -1, 1), self._elites])
        errors = self._errors(self._controls(fractions))
        weight = np.asarray(self._problem.weights.control)
        costs = errors + np.mean(weight * fractions**2, axis=(1, 2))
        order = np.argsort(costs, kind='stable')
        if costs[order[0]] < self.cost:
            self.best, self.cost = self._controls(fractions[order[0]]), float(costs[order[0]])
            self._best_error = float(errors[order[0]])
        elites = fractions[order[:ELITES]]
        self._elites = elites[:KEPT]
        self._mean += FOLLOWED * (elites.mean(axis=0) - self._mean)
        self._deviation += FOLLOWED * (elites.std(axis=0) - self._deviation)
        self._first_error = self._first_error or float(errors[order[0]])
        floor = FLOOR * FIRST * min(self._best_error / max(self._first_error, 1e-300), 1.0)
        self._deviation = np.maximum(self._deviation, floor)
        return self._best_error

    def _controls(self, fractions: Array) -> Array:
        """Return controls from fractions of the range, shape (..., segments, m)."""
        out = np.zeros((*fractions.shape[:-1], self._problem.system.control.size))
        out[..., self._active] = self._middle + self._half * fractions
        return out

    def _errors(self, controls: Array) -> Array:
        """Return the goal errors of samples, with a penalty for those that end early."""
        problem, batch = self._problem, self._batch
        batch.reset(states=problem.x_start, parameters=problem.p)
        for k in range(problem.segments):
            batch.step(controls[:, k])
        missing = 1 - batch.times / problem.horizon
        errors = np.array([goal_error(problem, x) for x in batch.states])
        return errors + np.where(batch.running, 0.0, LOST * (1 + missing))


def _limits(problem: PlanProblem) -> tuple[Array, Array]:
    """Return minimum and maximum of the active controls."""
    pairs = [problem.control_limit(name) for name in problem.active_controls]
    for name, pair in zip(problem.active_controls, pairs, strict=True):
        if not np.isfinite(pair).all():
            raise ParameterError(f'control_limits: method {BY_SAMPLES} needs limits of {name}')
    low, high = np.array(pairs).T
    return low, high


def _in_parts(plan: Plan, parts: int) -> Array:
    """Return the means of a plan's controls over equal parts of its duration."""
    times = plan.times[0] + plan.duration * (np.arange(10 * parts) + 0.5) / (10 * parts)
    return np.asarray(plan.controls_at(times).reshape(parts, 10, -1).mean(axis=1))


def _simulated(problem: PlanProblem, controls: Array) -> Plan:
    """Return held controls with the resulting motion."""
    times = np.linspace(0.0, problem.horizon, problem.segments + 1)
    held = np.vstack([controls, controls[-1:]])
    given = np.repeat(times, 2)[1:-1], np.repeat(controls, 2, axis=0)
    motion = simulate(
        problem.system,
        problem.p,
        problem.x_start,
        given,
        problem.horizon,
        t_eval=times,
        rtol=RTOL,
        atol=ATOL,
    )
    if motion.terminal_event is not None:
        event = motion.terminal_event
        raise PlanningError(
            f'no plan: the best sample ends by {event.name} at {event.time:.4g} s; another '
            'horizon, goal or first hand_motion may do'
        )
    return Plan.of(
        problem.system, times=times, states=motion.states, controls=held, interpolation=HOLD
    )
