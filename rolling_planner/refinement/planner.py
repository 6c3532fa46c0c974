"""
Iterative direct collocation: plan coarsely, simulate, refine until the goal is truly reached.

Source: Woodruff & Lynch, Section VI and Appendix C; instead of trusting the nodes, every
constraint is judged on the simulated trajectory, and tightened where it is broken in between.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.progress import Report, Watch
from rolling_planner.refinement.attempt import as_guess, Attempt, attempt, collocated, drift
from rolling_planner.refinement.diagnosis import failure
from rolling_planner.seeds.guess import Guess, initial_guesses, prepare_guesses
from rolling_planner.transcription.formulation import formulate

TIGHTENINGS = 3  # tries with tighter constraints before the grid is refined
AIMED, NEAR = 5, 0.02  # the same where a goal is aimed beside, and from which error on
TIGHTEN = 1.5  # by how much more than a constraint was broken
NEARLY = 1e-4  # violation up to which an optimisation that stopped early is refined nevertheless
LATER_ITERATIONS = 120  # of an optimisation from any guess but the first
INFEASIBLE = 3  # guesses that lead to an infeasible point until the problem is taken to be so
MAXIMAL_SEGMENTS = 1600


class Planner:
    """Plans for one problem; build once, refine in :meth:`run`."""

    def __init__(self, problem: PlanProblem) -> None:
        """Take the functions of the problem from those kept, or write them out."""
        self.problem = problem
        self.formulation = formulate(problem)
        self.formulation.goal(problem)  # a goal that cannot be moved to is refused here
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
            No plan was found; the text names what could not be met.
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
        aims = guess.barrier is None  # a plan in haste: aiming is sooner there than a finer grid
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
                break  # another guess is worth more than a finer grid
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
            # the reference of the feedback, not the motion of one run under it
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
        What is asked for.
    on_iteration
        Called with an :class:`Iteration` each time, also while a guess is sought; returning False
        cancels.

    Returns
    -------
    Plan
        Times, states as simulated, controls, contact wrenches.

    Raises
    ------
    ParameterError
        The problem is none.
    InfeasibleError, PlanningTimeoutError, NotConvergedError
        No plan was found; the text names what could not be met. All are PlanningError.
    CancelledError
        ``on_iteration`` returned False.

    """
    return Planner(problem).run(on_iteration)
