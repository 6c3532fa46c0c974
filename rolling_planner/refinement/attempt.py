"""An attempt to solve a plan, and its release into free flight."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rolling_dynamics.arrays import Array
from rolling_dynamics.contract.capabilities import offers, Separation
from rolling_dynamics.contract.rolling_system import RollingSystem
from rolling_planner.plan import Plan
from rolling_planner.problem import PlanProblem
from rolling_planner.problem.goal import goal_error
from rolling_planner.progress import Iteration, Watch
from rolling_planner.refinement.rollout import (
    Growth,
    growth,
    Rollout,
    under_feedback,
    UNSTABLE,
    Violation,
    violations,
)
from rolling_planner.seeds.guess import Guess
from rolling_planner.transcription.formulation import envelope_bounds, Formulation, plan_bounds
from rolling_planner.transcription.interior_point import Bounds, Optimum, solve
from rolling_planner.transcription.transcription import Transcription

ENVELOPE_TOLERANCE = 1e-4  # tolerance of an envelope function in simulation


@dataclass(eq=False)
class Attempt:
    """
    A simulated plan and its quality.

    Attributes
    ----------
    optimum
        Result of the solver.
    bounds, transcription
        The programme it solved.
    rollout
        The simulation.
    times
        Ends of the segments [s].
    error
        Goal error of the simulation.
    broken
        Constraints that the simulation breaks.
    release
        The release into free flight, by name.
    growth
        Growth of errors in open loop, if the plan was simulated under feedback; else None.
    guess
        Name of the guess.

    """

    optimum: Optimum
    bounds: Bounds
    transcription: Transcription
    rollout: Rollout
    times: Array
    error: float
    broken: list[Violation]
    release: dict[str, float] = field(default_factory=dict)
    guess: str = ''
    growth: Growth | None = None

    def rank(self, tolerance: float) -> tuple[bool, int, float]:
        """Return a sort key, smaller is better; its first entry is whether it fails."""
        missed = self.error > tolerance
        return bool(self.broken) or missed, len(self.broken) + missed, self.error


def attempt(
    problem: PlanProblem,
    formulation: Formulation,
    times: Array,
    guess: Guess,
    tighter: dict[str, float],
    watch: Watch,
    *,
    tracking: bool = True,
    iterations: int,
    previous: Attempt | None = None,
    aside: Array | None = None,
) -> Attempt:
    """
    Solve on a grid from a guess, and simulate.

    Parameters
    ----------
    problem, formulation
        The problem and its functions.
    times
        Ends of the segments [s].
    guess
        Initial guess.
    tighter
        Amounts by which to tighten envelope functions and limits, named as in violations.
    watch
        Progress, cancellation, time.
    tracking
        Whether the tracking weights are used.
    iterations
        Maximum number of iterations.
    previous
        Less tightened attempt on the same grid, the source of the guess.
    aside
        Offset of the aim from the goal, in its rows; None for no offset.

    """
    model, nx = formulation.model, formulation.model.state.size
    end = guess.states(np.array([problem.horizon]))[0]
    goal = formulation.goal(problem)
    if aside is not None:
        goal = goal._replace(values=goal.values + aside)
    transcription = formulation.transcription(times, problem.method, goal.rows, watch.poll)
    nodes = transcription.node_times
    data = formulation.data(problem, nodes / problem.horizon, end, tracking=tracking)
    bounds = plan_bounds(
        problem, formulation, transcription, tighter, goal, end[model.state_index]
    )
    z0 = np.hstack(
        [guess.states(nodes)[:, model.state_index], guess.controls(nodes)[:, model.control_index]]
    )
    z0 = np.clip(z0, bounds.z_low, bounds.z_high)

    def report(number: int, z: Array, cost: float, violation: float) -> None:
        watch.spend((len(times) - 1) / problem.segments)
        if not watch.is_watched:
            return
        last = z.reshape(z0.shape)[-1:, :nx]
        error = goal_error(problem, model.expand_states(last, problem.x_start)[0])
        watch.report(Iteration(number, len(times) - 1, cost, violation, error, watch.stage))

    watch.poll()
    optimum = solve(
        transcription,
        bounds,
        z0,
        data,
        iterations=iterations,
        barrier=guess.barrier,
        watch=watch,
        report=report,
        previous=None if previous is None else previous.optimum,
    )
    controls = model.expand_controls(optimum.z[transcription.segment_nodes][:, nx:])
    watch.poll()
    rollout = formulation.simulator.run(problem.p, problem.x_start, times, controls)
    found = Attempt(optimum, bounds, transcription, rollout, times, np.inf, [], guess=guess.name)
    _evaluate(problem, found)
    if optimum.solved and found.error > problem.goal_tolerance and not problem.release:
        _evaluate_unstable(problem, formulation, found)
    return found


def collocated(problem: PlanProblem, formulation: Formulation, found: Attempt) -> Plan:
    """Return states and controls of an attempt at the ends of its segments, as collocated."""
    model, nx = formulation.model, formulation.model.state.size
    z = found.optimum.z[found.transcription.segment_nodes]
    return Plan.of(
        problem.system,
        times=found.times,
        states=model.expand_states(z[:, :nx], problem.x_start),
        controls=model.expand_controls(z[:, nx:]),
    )


def _evaluate_unstable(problem: PlanProblem, formulation: Formulation, found: Attempt) -> None:
    """Simulate an attempt under feedback instead, if its errors grow without it."""
    plan, simulator = collocated(problem, formulation, found), formulation.simulator
    grown = growth(problem.system, simulator.step, problem.p, plan, lambda _: simulator.samples)
    if grown.factor < UNSTABLE:
        return
    rollout = under_feedback(problem, simulator, plan)
    if rollout is not None:
        found.rollout, found.growth = rollout, grown
        _evaluate(problem, found)


def drift(problem: PlanProblem, formulation: Formulation, found: Attempt) -> Array:
    """Return the final error of a simulation from its optimum, (k,), in units of the goal rows."""
    model = formulation.model
    optimum = found.optimum.z[-1, : model.state.size]
    apart = found.rollout.states[-1, model.state_index] - optimum
    return np.array(formulation.goal(problem).rows @ apart)


def _evaluate(problem: PlanProblem, found: Attempt) -> None:
    """Record goal error, broken constraints and release of a simulated attempt."""
    rollout, system = found.rollout, problem.system
    error = goal_error(problem, rollout.states[-1])
    found.error = error if np.isfinite(error) else np.inf
    found.broken = violations(problem, rollout, envelope_bounds(problem), ENVELOPE_TOLERANCE)
    parting = offers(system, Separation)
    if problem.release and np.isfinite(found.error) and parting is not None:
        found.release = release_of(system, parting, problem.p, rollout)
        found.broken += release_violations(found.release, float(rollout.times[-1]))


def as_guess(problem: PlanProblem, formulation: Formulation, found: Attempt) -> Guess:
    """Return an attempt as the guess for the next one."""
    model, nx = formulation.model, formulation.model.state.size
    z = found.optimum.z
    return Guess.from_samples(
        found.transcription.node_times,
        model.expand_states(z[:, :nx], problem.x_start),
        model.expand_controls(z[:, nx:]),
        1e-4,
        found.guess,
    )


FORCE_TOLERANCE = 2e-3  # of the contact force at the end, in weights


def release_of(
    system: RollingSystem, parting: Separation, p: Array, rollout: Rollout
) -> dict[str, float]:
    """
    Return measures of the release of the object in a simulated plan.

    Returns
    -------
    dict
        ``force``: norm of the contact force at the end, in weights; ``force_rate``: rate of the
        normal force there, in weights per second, negative if the bodies separate;
        ``acceleration_excess``: a_z,rel - a_z,roll [m/s^2] 10 ms later; ``gap``: distance of the
        bodies [m] then.

    """
    params = system.parameters.unpack(p)
    weight = float(params['mass'][0] * np.linalg.norm(params['gravity_W']) or params['mass'][0])
    dt = float(rollout.times[-1] - rollout.times[-2])
    f_z = rollout.wrenches[:, 5] / weight
    slope = (rollout.controls[-1] - rollout.controls[-2]) / dt
    x, u = rollout.states[-1], rollout.controls[-1]
    return {
        'force': float(np.linalg.norm(rollout.wrenches[-1, 3:])) / weight,
        'force_rate': float((f_z[-1] - f_z[-2]) / dt),
        **parting.separation(p, x, u, slope),
    }


def release_violations(release: dict[str, float], end: float) -> list[Violation]:
    """Return the reasons why a plan does not end in free flight."""
    found = []
    if not release['force'] <= FORCE_TOLERANCE:
        text = 'release (contact force at the end)'
        found.append(Violation(text, release['force'], end))
    if not release['force_rate'] < 0:
        found.append(Violation('release (the hand does not separate)', release['force_rate'], end))
    return found
