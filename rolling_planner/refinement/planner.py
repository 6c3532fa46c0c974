"""Planning by collocation: attempts, and the diagnosis of problems without a solution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import math
import time
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.contact_forces import contact_forces
from rolling_dynamics.errors import PlanningError
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_misses
from rolling_planner.progress import (
    InfeasibleError,
    NotConvergedError,
    PlanningTimeoutError,
    Report,
    Watch,
)
from rolling_planner.refinement.attempt import as_guess, Attempt, attempt, collocated, drift
from rolling_planner.refinement.rollout import Rollout
from rolling_planner.seeds.guess import Guess, initial_guesses, prepare_guesses
from rolling_planner.transcription.formulation import formulate, Formulation

ITERATIONS = 120  # iterations of the optimisation without the constraint
PRESSES = 1e-2  # smallest significant multiplier, as a fraction of the largest one of a limit
SOLVED = 0.1  # simulated goal error, over the tolerance, up to which the rest counts as met


def failure(
    problem: PlanProblem, formulation: Formulation, best: Attempt | None, watch: Watch
) -> PlanningError:
    """Return the error with the reason why there is no plan."""
    missed = 'no guess was found' if best is None else _missed(problem, best)
    if watch.expired:
        return PlanningTimeoutError(_spent_text(problem, missed, watch))
    if best is None:
        return NotConvergedError(f'no plan: {missed}')
    if best.optimum.solved and best.broken:
        return InfeasibleError(
            f'no plan: {missed} where the motion is simulated, between the nodes of the grids; '
            'allow more refinements, or relax that constraint'
        )
    watch.stage = 'diagnose'
    for name, relaxed in _relaxations(problem, formulation, best):
        if watch.expired:
            break
        needed = _needed(name, problem, relaxed, best, watch)
        if needed:
            return InfeasibleError(f'no plan: {needed}; with it, {missed}')
    stuck = best.optimum.status == 'Infeasible_Problem_Detected'
    if stuck or best.broken or best.optimum.violation > problem.goal_tolerance:
        return InfeasibleError(
            f'no plan ({best.optimum.status}): {missed}; allow a longer horizon, wider limits, '
            'more friction or more degrees of freedom'
        )
    return NotConvergedError(
        f'no plan ({best.optimum.status}): {missed}; allow more segments or refinements, another '
        'guess or another seed'
    )


def _spent_text(problem: PlanProblem, missed: str, watch: Watch) -> str:
    if watch.exhausted:
        return f'no plan within an effort of {problem.effort:g}: {missed}; allow more effort'
    budget = f'time budget of {problem.time_budget:.3g} s by the clock'
    return f'no plan within the {budget}: {missed}; allow more time on a slow or busy machine'


def _missed(problem: PlanProblem, best: Attempt) -> str:
    """Return a description of the constraints that the best attempt violates."""
    reasons = [f'{v} is broken' for v in best.broken]
    if not best.error <= problem.goal_tolerance:
        misses = {
            name: float(np.linalg.norm(m))
            for name, m in goal_misses(problem, best.rollout.states[-1]).items()
        }
        if all(math.isfinite(m) for m in misses.values()):
            worst = max(misses, key=lambda name: misses[name], default='')
            reasons.append(
                f'the goal error {best.error:.3g} exceeds the tolerance '
                f'{problem.goal_tolerance:.3g}, most in goal.{worst} ({misses.get(worst, 0):.3g})'
            )
        else:
            reasons.append('the simulated motion runs away')
    return '; '.join(reasons)


def _relaxations(
    problem: PlanProblem, formulation: Formulation, best: Attempt
) -> Iterator[tuple[str, PlanProblem]]:
    """Yield the names of constraints at their limit, and the problem without each."""
    at = _at_limit(problem, formulation, best)
    free: dict[str, dict[str, Any]] = {
        'friction': {'friction_cone': False},
        'spin': {'spin_friction': False},
        'control_limits': {'control_limits': math.inf},
        'state_limits': {
            'state_limits': {n: v for n, v in problem.state_limits.items() if n not in at}
        },
        'normal_force': {'normal_force_min': -math.inf, 'friction_cone': False},
    }
    groups = {
        'control_limits': [n for n in problem.system.control.names if n in at],
        'state_limits': [n for n in problem.state_limits if n in at],
    }
    lifted: dict[str, Any] = {}
    for name, change in free.items():
        limits = [n for n in formulation.envelope if n == name or n.startswith(f'{name}_')]
        if names := groups.get(name, [n for n in limits if n in at]):
            lifted |= change
            what = f'{name} of {", ".join(names)}' if name in groups else name
            yield what, replace(problem, **change)
    if len(lifted) > 1:
        yield 'horizon', replace(problem, **lifted)


def _at_limit(problem: PlanProblem, formulation: Formulation, best: Attempt) -> set[str]:
    """Return the names of envelope functions, controls and states with the most active limits."""
    found, n, nx = best.optimum, best.transcription.n_nodes, formulation.model.state.size
    path = np.abs(found.lam_g[best.transcription.rows['path']]).reshape(n, -1)
    z = np.abs(found.lam_z).reshape(n, -1)
    states, controls = problem.system.state.names, problem.system.control.names
    presses = dict(zip(formulation.envelope, path.max(axis=0), strict=True))
    index, driven = formulation.model.state_index, formulation.model.control_index
    presses |= {states[i]: z[1:, k].max() for k, i in enumerate(index)}
    presses |= {controls[i]: z[:, nx + k].max() for k, i in enumerate(driven)}
    most = max(presses.values())
    return {name for name, by in presses.items() if by > 0.0 and by >= PRESSES * most}


def _needed(
    name: str, problem: PlanProblem, relaxed: PlanProblem, best: Attempt, watch: Watch
) -> str | None:
    """Return the required value of a constraint, None if dropping it does not help."""
    if best.optimum.solved and np.all(np.isfinite(best.rollout.states)):
        r = best.rollout
        guess = Guess.from_samples(r.times, r.states, r.controls)
    else:
        guess = next(iter(initial_guesses(relaxed, watch)))
    times = np.linspace(0.0, problem.horizon, problem.segments + 1)
    found = attempt(
        relaxed,
        formulate(relaxed),
        times,
        guess,
        {},
        watch,
        iterations=ITERATIONS,
    )
    if not (found.optimum.solved and found.error <= problem.goal_tolerance + SOLVED):
        return None
    return _words(name, problem, found)


def _words(name: str, problem: PlanProblem, found: Attempt) -> str:
    if name == 'horizon':
        return (
            f'the horizon of {problem.horizon:.3g} s is too short for the limits of contact and '
            'controls together'
        )
    if name == 'friction':
        where, mu, needed = _friction(problem, found.rollout)
        return (
            f'the friction cone cannot be kept{where}: mu = {mu:.3g} is given, a plan without '
            f'it needs {needed:.3g}'
        )
    if name == 'spin':
        wrenches = found.rollout.wrenches
        mu = float(np.max(np.abs(wrenches[:, 2]) / np.maximum(wrenches[:, 5], 1e-12)))
        params = problem.system.parameters.unpack(problem.p)
        given = f'mu_spin = {params["mu_spin"][0]:.3g} m is given, ' if 'mu_spin' in params else ''
        return f'the spin friction cannot be kept: {given}a plan without it needs {mu:.3g} m'
    if name == 'normal_force':
        margins = found.rollout.margins.items()
        least = min(float(values.min()) for kind, values in margins if kind.startswith(name))
        return (
            'the normal force cannot be kept: at least '
            f'{problem.normal_force_min:.3g} of the weight is asked for, a plan without it and '
            f'without friction limit comes to {least:.3g}'
        )
    if name.startswith('control_limits'):
        parts = []
        for k, control in enumerate(problem.system.control.names):
            if control in name.replace(',', ' ').split():
                peak = float(np.abs(found.rollout.controls[:, k]).max())
                low, high = problem.control_limit(control)
                parts.append(f'{control} in [{low:.3g}, {high:.3g}], needed {peak:.3g}')
        return f'the control_limits cannot be kept ({"; ".join(parts)})'
    return f'the {name} cannot be kept'


def _friction(problem: PlanProblem, r: Rollout) -> tuple[str, float, float]:
    """Return the contact at which a motion most exceeds friction, needed and given value."""
    contacts = contact_forces(problem.system, next(iter(problem.system.modes)))
    if contacts is None:
        raise ValueError(f'{problem.system.name}: a friction cone without forces')
    count = len(r.times)
    given = r.states.T, r.controls.T, r.times[None, :], np.tile(problem.p, (count, 1)).T
    force = np.array(contacts.forces.map(count)(*given)).T.reshape(count, -1, 3)
    along = np.hypot(force[..., 0], force[..., 1])
    needed = (along / np.maximum(force[..., 2], 1e-12)).max(axis=0)
    mu = np.array(contacts.frames(r.states[0], problem.p)[0]).ravel()
    k = int(np.argmax(needed / mu))
    name = contacts.names[k]
    return f' at the contact of {name}' if name else '', float(mu[k]), float(needed[k])


TIGHTENINGS = 3  # attempts with tighter constraints before the grid is refined
AIMED, NEAR = 5, 0.02  # the same with an offset of the aim, and the error from which on it is used
TIGHTEN = 1.5  # factor of the violation of a constraint
NEARLY = 1e-4  # violation up to which an optimisation that stopped early is still refined
LATER_ITERATIONS = 120  # iterations from any guess but the first
INFEASIBLE = 3  # infeasible guesses after which the problem counts as infeasible
MAXIMAL_SEGMENTS = 1600


class Planner:
    """
    Plans for one problem; build once, refine in :meth:`run`.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import Planner, read_problem
    >>> planner = Planner(read_problem(load_scenario('ball_on_plate_straight')))
    >>> planner.run().interpolation
    'linear'

    """

    def __init__(self, problem: PlanProblem) -> None:
        """Take the functions of the problem from the cache, or build them."""
        self.problem = problem
        self.formulation = formulate(problem)
        self.formulation.goal(problem)  # rejects a goal that cannot be reached
        prepare_guesses(problem)

    def run(self, report: Report | None = None) -> Plan:
        """
        Return a plan that reaches the goal in simulation.

        Parameters
        ----------
        report
            Called at each iteration; False cancels.

        Raises
        ------
        InfeasibleError, PlanningTimeoutError, NotConvergedError
            There is no plan; the text names the constraint that could not be met.
        CancelledError
            ``report`` returned False.

        """
        problem, started = self.problem, time.process_time()
        watch = Watch(report, problem.time_budget, problem.effort)
        best: Attempt | None = None
        iterations, dead_ends = 0, 0
        for number, guess in enumerate(initial_guesses(problem, watch)):
            most = problem.iterations if number == 0 else min(LATER_ITERATIONS, problem.iterations)
            found, used = self._refine(guess, watch, most)
            iterations += used
            dead_ends += not found.optimum.solved
            tolerance = problem.goal_tolerance
            if best is None or found.rank(tolerance) < best.rank(tolerance):
                best = found
            if not best.rank(tolerance)[0] or watch.expired or dead_ends == INFEASIBLE:
                break
        if best is None or best.rank(problem.goal_tolerance)[0]:
            raise failure(problem, self.formulation, best, watch)
        return self._plan(best, iterations, time.process_time() - started)

    def _refine(self, guess: Guess, watch: Watch, iterations: int) -> tuple[Attempt, int]:
        """Return the best plan from a guess, on finer and finer grids, and the iterations used."""
        problem, tolerance = self.problem, self.problem.goal_tolerance
        segments, used = problem.segments, 0
        aims = guess.barrier is None  # in a hurry: an offset is faster than a finer grid
        best: Attempt | None = None
        for refinement in range(problem.refinements + 1):
            times = np.linspace(0.0, problem.horizon, segments + 1)
            tighter: dict[str, float] = {}
            previous: Attempt | None = None
            aside: Array | None = None
            near = NEAR
            for _ in range(AIMED if aims else TIGHTENINGS):
                found = attempt(
                    problem,
                    self.formulation,
                    times,
                    guess,
                    tighter,
                    watch,
                    # the tracking weight acts on the coarsest grid, Appendix C
                    tracking=refinement == 0 or problem.goal_mode == 'hard',
                    iterations=iterations,
                    previous=previous,
                    aside=aside,
                )
                used += found.optimum.iterations
                if best is None or found.rank(tolerance) <= best.rank(tolerance):
                    best = found
                if not best.rank(tolerance)[0] or watch.expired:
                    return best, used
                if not found.optimum.solved:
                    break
                guess = as_guess(problem, self.formulation, found)
                between = [v for v in found.broken if not v.name.startswith('release')]
                if aims and found.growth is None and tolerance < found.error <= near:
                    near = found.error / 2
                    missed = drift(problem, self.formulation, found)
                    aside = -missed if aside is None else aside - missed
                elif not between or found.error > 10 * tolerance:
                    break
                for v in between:
                    tighter[v.name] = tighter.get(v.name, 0.0) + TIGHTEN * v.amount
                previous = found
            segments *= 2
            wrong = not found.optimum.solved and found.optimum.violation > NEARLY
            if wrong or segments > MAXIMAL_SEGMENTS:
                break  # another guess is more promising than a finer grid
        assert best is not None  # noqa: S101  there is at least one grid
        return best, used

    def _plan(self, found: Attempt, iterations: int, seconds: float) -> Plan:
        problem, r = self.problem, found.rollout
        nodes = np.append(np.arange(0, len(r.times) - 1, r.stride), len(r.times) - 1)
        report: dict[str, Any] = {
            'goal_error': found.error,
            'cost': found.optimum.cost,
            'segments': len(found.times) - 1,
            'iterations': iterations,
            'cpu_seconds': seconds,
            'method': problem.method,
            'guess': found.guess,
            'status': found.optimum.status,
            'least_margins': {name: float(m.min()) for name, m in r.margins.items()},
        }
        if found.release:
            report['release'] = found.release
        states, controls = r.states[nodes], r.controls[nodes]
        if found.growth is not None:
            # the reference of the feedback, not a motion under it
            reference = collocated(problem, self.formulation, found)
            states, controls = reference.states, reference.controls
            report |= {
                'judged': 'under the regulator along the plan: it is unstable in open loop',
                'open_loop_growth': found.growth.factor,
                'greatest_defect': found.growth.defect,
            }
        return Plan.of(
            problem.system,
            times=r.times[nodes],
            states=states,
            controls=controls,
            contact_wrenches=r.wrenches[nodes],
            report=report,
        )


def plan_rolling(problem: PlanProblem, on_iteration: Report | None = None) -> Plan:
    """
    Return a plan that reaches the goal in simulation and keeps the contact.

    Parameters
    ----------
    problem
        The problem.
    on_iteration
        Called with each :class:`Iteration`, also during the search for a guess; False cancels.

    Returns
    -------
    Plan
        Times, states as simulated, controls, contact wrenches.

    Raises
    ------
    ParameterError
        The problem is not valid.
    InfeasibleError, PlanningTimeoutError, NotConvergedError
        There is no plan; the text names the constraint that could not be met. All are
        PlanningError.
    CancelledError
        ``on_iteration`` returned False.

    Examples
    --------
    >>> from rolling_dynamics import load_scenario
    >>> from rolling_planner import plan_rolling, read_problem
    >>> plan = plan_rolling(read_problem(load_scenario('ball_on_plate_straight')))
    >>> plan.report['goal_error'] < 0.1, plan.duration
    (True, 2.0)

    """
    return Planner(problem).run(on_iteration)
